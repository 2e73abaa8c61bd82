// Who the operator is to the API server: headers and TLS material out of a kubeconfig or the pod's ServiceAccount, re-read.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '../clock.ts';
import { KubernetesError } from './kubernetes-error.ts';

const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** How long a token that was read is used before the file is read again, as client-go does, in milliseconds. */
const freshForMilliseconds = 60_000;

export interface Credential {
  headers: Readonly<Record<string, string>>;
  tls: ConnectionOptions;
  /** Moves when the TLS material does: connections made with another one must not be used. */
  tlsFingerprint: string;
}

/**
 * Reads the configuration in the order of Kubernetes' own controllers: the named file, $KUBECONFIG, the pod's
 * ServiceAccount, ~/.kube/config.
 * @param path a kubeconfig file named by the user
 * @throws KubernetesError unauthorized when there is none
 */
export function loadKubeConfig(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  if (path !== undefined) config.loadFromFile(path);
  else if (process.env.KUBECONFIG) config.loadFromDefault();
  else if (process.env.KUBERNETES_SERVICE_HOST && existsSync(serviceAccountToken)) config.loadFromCluster();
  else if (existsSync(join(homedir(), '.kube', 'config'))) config.loadFromDefault();
  else {
    throw new KubernetesError(
      'unauthorized',
      'no way to a Kubernetes API server: run in a pod with a ServiceAccount, set KUBECONFIG, or name a kubeconfig file',
    );
  }
  return config;
}

/** The current credential. It is read anew after a minute, and at the next use after `forget`. */
export class Credentials {
  /** The API server's address. */
  readonly server: URL;
  /** The namespace that the configuration stands in: in a pod, the pod's own. */
  readonly namespace: string | undefined;
  readonly #load: () => KubeConfig;
  readonly #clock: Clock;
  #config: KubeConfig;
  #current: Promise<Credential> | undefined;
  #last: Credential | undefined;
  #readAt = 0;

  /** @throws KubernetesError unauthorized when the configuration cannot be loaded or is one that Lyceum refuses */
  constructor(load: () => KubeConfig, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
    this.#config = this.#loaded();
    const cluster = this.#config.getCurrentCluster();
    if (cluster === null || !URL.canParse(cluster.server)) {
      throw unusable('its current context names no cluster with a valid server address');
    }
    this.server = new URL(cluster.server);
    if (cluster.proxyUrl) throw unusable('remove proxy-url: the API server is never spoken to through a proxy');
    if (this.server.protocol === 'http:' && !cluster.skipTLSVerify) {
      throw unusable('a server at http:// needs insecure-skip-tls-verify: true, since everybody could read the token');
    }
    this.namespace = this.#config.getContextObject(this.#config.getCurrentContext())?.namespace;
  }

  /**
   * Headers and TLS material to use now. When reading anew fails, the last ones are used on.
   * @throws KubernetesError unauthorized when nothing could be read yet
   */
  current(): Promise<Credential> {
    if (this.#current === undefined || this.#clock.now() - this.#readAt >= freshForMilliseconds) {
      this.#readAt = this.#clock.now();
      this.#current = this.#read();
    }
    return this.#current;
  }

  /** The API server did not accept the credential, or its certificate is of another CA: read again at the next use. */
  forget(): void {
    this.#current = undefined;
  }

  async #read(): Promise<Credential> {
    try {
      if (this.#last !== undefined && !keepsItsOwnTokens(this.#config)) this.#config = this.#loaded();
      this.#last = await credentialOf(this.#config);
      return this.#last;
    } catch (error) {
      if (this.#last !== undefined) return this.#last;
      throw error instanceof KubernetesError ? error : unusable(codeOf(error), error);
    }
  }

  #loaded(): KubeConfig {
    try {
      return this.#load();
    } catch (error) {
      throw error instanceof KubernetesError ? error : unusable(codeOf(error), error);
    }
  }
}

/** Plugins and providers refresh tokens by themselves and keep them in the configuration; files must be read again. */
function keepsItsOwnTokens(config: KubeConfig): boolean {
  const user = config.getCurrentUser();
  return Boolean(user?.exec) || Boolean(user?.authProvider && !user.authProvider.config?.tokenFile);
}

async function credentialOf(config: KubeConfig): Promise<Credential> {
  const options: RequestOptions & ConnectionOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value).trim();
  if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, rejectUnauthorized, servername } = options;
  const tls: ConnectionOptions = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(servername === undefined ? {} : { servername }),
  };
  const fingerprint = createHash('sha256').update(JSON.stringify(tls)).digest('hex');
  return { headers, tls, tlsFingerprint: fingerprint };
}

const codeOf = (error: unknown): string => {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code === undefined ? 'it cannot be read' : `it cannot be read: ${code}`;
};

const unusable = (why: string, cause?: unknown): KubernetesError =>
  new KubernetesError('unauthorized', `the configuration for the API server is not usable: ${why}`, { cause });
