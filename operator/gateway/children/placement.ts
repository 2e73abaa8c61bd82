// Where the pods of a gateway get the catalogue from, and what of the installation reaches their namespace. Pure.
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import type { Owner } from './child-metadata.ts';
import type { PodSettings } from './pod-settings.ts';

/** `volume`: they mount the claim. `copy`: they copy from the operator. `none`: neither is open to them, and why. */
export type Placement = { from: 'volume' | 'copy' } | { from: 'none'; message: string };

export function placementOf(
  { metadata: { namespace } }: Owner,
  { sync: { enabled } }: SkillGatewaySpec,
  { volumeClaim, namespace: reached, sync }: Pick<PodSettings, 'volumeClaim' | 'namespace' | 'sync'>,
): Placement {
  const elsewhere = namespace !== reached;
  if (!elsewhere && !enabled) return { from: 'volume' };
  if (sync !== undefined) return { from: 'copy' };
  const on = 'set sync.enabled of the chart, which lets pods copy the catalogue';
  return {
    from: 'none',
    message: elsewhere
      ? `Pods of this namespace cannot mount the catalogue: its claim ${volumeClaim} is in namespace ${reached}. ` +
        `Create the SkillGateway and its SkillSources there, or ${on}`
      : `spec.sync.enabled asks for a copy of the catalogue, which this installation does not give: ${on}, or take spec.sync.enabled out`,
  };
}

/** The settings of an installation as they hold for one gateway: Secrets and ConfigMaps of its namespace stay there. */
export function settingsFor(gateway: Owner, spec: SkillGatewaySpec, settings: PodSettings): PodSettings {
  const { metadata } = gateway;
  const copies = placementOf(gateway, spec, settings).from === 'copy';
  const nearby = copies ? { ...settings, keepTogether: undefined } : { ...settings, sync: undefined };
  if (metadata.namespace === settings.namespace) return nearby;
  const { operator, sync, fetching } = settings;
  return {
    ...nearby,
    imagePullSecrets: [],
    operator: operator && { url: operator.url, authority: sync?.authority },
    fetching: fetching && { ...fetching, extraCa: undefined },
  };
}
