// What the pods of a gateway are made of, besides its spec: what the installation says, and the Secrets of Live sources.
/** What the installation says of the pods of all gateways. */
export interface PodSettings {
  image: string;
  /** Left out: Kubernetes decides by the image's tag. */
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never' | undefined;
  /** Secrets for the image's registry, besides those of a gateway. */
  imagePullSecrets: readonly string[];
  /** The claim to the volume that the operator publishes to. */
  volumeClaim: string;
  /** The namespace of the claim: only pods there can mount it. */
  namespace: string;
  /** Labels of the pods on whose node the server pods are kept, for a volume that one node mounts at a time. */
  keepTogether?: Readonly<Record<string, string>> | undefined;
  /**
   * The operator's port for callers, and by what its certificate is known: the `ca.crt` of a Secret, or, in PEM, what it would
   * hold. Left out: servers do not call.
   */
  operator?: { url: string; caSecret?: string | undefined; authority?: string | undefined } | undefined;
  /** Pods that cannot mount the volume copy the catalogue, and know the operator by these certificates, in PEM. Left out: none do. */
  sync?: { authority: string } | undefined;
  /** What holds for the operator's own fetches, and for those of servers with a Live source alike. */
  fetching?:
    | {
        deniedCidrs: readonly string[];
        environment: Readonly<Record<string, string>>;
        /** Where the certificates of the installation's own authorities are, in the namespace of the pods. */
        extraCa?: ExtraCa | undefined;
      }
    | undefined;
}

export interface ExtraCa {
  kind: 'configMap' | 'secret';
  name: string;
  key: string;
}

/** A Live source, and the Secret that servers show its WebDAV server. */
export interface LiveSecret {
  source: string;
  secret: string;
}
