// From the keys of a Secret to what a registry, or the token server that it names, is shown.
import { z } from 'zod';
import { secretText } from '../secret-text.ts';
import type { ArtifactAddress } from './address.ts';

export type RegistryCredentials =
  | { ok: true; basic: string | undefined; ca: Buffer | undefined }
  | { ok: false; missing: string };

const loginSchema = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
});
const dockerConfigSchema = z.object({ auths: z.record(z.string(), z.unknown()) });

/**
 * `username` and `password`, or `.dockerconfigjson` as image pull secrets have it; `ca.crt` beside them, or alone. One line end
 * after a value is dropped.
 * @param secret the Secret's keys and values; none at all where no Secret is named
 * @returns `basic`: the header, undefined for anonymous; `missing`: the keys that have to be added or mended
 */
export function registryCredentials(
  secret: ReadonlyMap<string, Buffer>,
  address: Pick<ArtifactAddress, 'registry' | 'repository'>,
): RegistryCredentials {
  const ca = secret.get('ca.crt');
  const username = secretText(secret, 'username');
  const password = secretText(secret, 'password');
  if (username !== '' || password !== '') {
    if (username === '' || username.includes(':')) return { ok: false, missing: 'username (without a colon)' };
    if (password === '') return { ok: false, missing: 'password' };
    return { ok: true, basic: basicOf(username, password), ca };
  }
  const config = secretText(secret, '.dockerconfigjson');
  if (config !== '') return fromDockerConfig(config, address, ca);
  if (secret.size === 0 || ca !== undefined) return { ok: true, basic: undefined, ca };
  return { ok: false, missing: '.dockerconfigjson, or username and password' };
}

function fromDockerConfig(
  config: string,
  { registry, repository }: Pick<ArtifactAddress, 'registry' | 'repository'>,
  ca: Buffer | undefined,
): RegistryCredentials {
  const parsed = dockerConfigSchema.safeParse(json(config));
  if (!parsed.success) return { ok: false, missing: '.dockerconfigjson (a JSON object with auths)' };
  const wanted = `${registry}/${repository}`;
  const [best] = Object.entries(parsed.data.auths)
    .map(([key, login]) => ({ place: placeOf(key), login }))
    .filter(({ place }) => wanted === place || wanted.startsWith(`${place}/`))
    .sort((a, b) => b.place.length - a.place.length);
  if (best === undefined) return { ok: false, missing: `an entry for ${registry} in .dockerconfigjson` };
  const login = loginSchema.safeParse(best.login);
  const basic = login.success ? loginOf(login.data) : undefined;
  if (basic === undefined) {
    return { ok: false, missing: `a username and a password for ${registry} in .dockerconfigjson` };
  }
  return { ok: true, basic, ca };
}

/** What an entry is for: a registry, or a folder of repositories there. Docker Hub's has had several names. */
function placeOf(key: string): string {
  const [host = '', ...path] = key.replace(/^https?:\/\//, '').split('/');
  const isVersion = path.length <= 2 && /^v[12]$/.test(path[0] ?? '') && (path[1] ?? '') === '';
  const registry = /^(index\.|registry-1\.)?docker\.io$/i.test(host) ? 'docker.io' : host.toLowerCase();
  return [registry, ...(isVersion ? [] : path)].join('/').replace(/\/+$/, '');
}

function loginOf({ auth, username, password }: z.infer<typeof loginSchema>): string | undefined {
  const text = auth ? Buffer.from(auth, 'base64').toString() : `${username ?? ''}:${password ?? ''}`;
  const colon = text.indexOf(':');
  return colon > 0 && colon < text.length - 1 ? basicOf(text.slice(0, colon), text.slice(colon + 1)) : undefined;
}

const basicOf = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
