// Sources with a secret in each: those that work and may turn bad, those whose server repeats what it is shown, those whose Secret
// is no good, and specs with a secret in the URL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startBucketServer } from '../../fixtures/bucket-server.ts';
import { GitFixture } from '../../fixtures/git-repository.ts';
import { startGitServer } from '../../fixtures/git-server.ts';
import { skillText } from '../../fixtures/operator.ts';
import type { Behaviour } from '../../fixtures/recording-proxy.ts';
import { registryLogin, startRegistry } from '../../fixtures/registry-server.ts';
import { startSshServer } from '../../fixtures/ssh-server.ts';
import { tarOf } from '../../fixtures/tar.ts';
import { startWebDavServer, user } from '../../fixtures/webdav-server.ts';
import { impostor } from '../sources/case.ts';
import type { Canaries } from './canaries.ts';
import { anywhere, inProtocol, type Parrot, type ParrotServer, parrotServer } from './parrots.ts';

export interface PlantedSource {
  name: string;
  what: string;
  url: string;
  /** More of its spec. */
  spec?: object;
  secret: Record<string, string>;
  works: boolean;
  /** Of one that works: its server repeats what it is shown from now on. */
  turn?: () => void;
  /** Of one that does not: whether its server was shown the secret; left out where none is asked. */
  heard?: () => boolean;
}

export interface PlantedSources extends AsyncDisposable {
  sources: PlantedSource[];
  /** Plants what the servers have been shown up to now: signatures, and tokens that they gave out. */
  plantShown(): void;
}

type Group = (canaries: Canaries) => Promise<PlantedSources>;

const files = { 'skills/one/SKILL.md': skillText('one') };
const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

/** Repeats what is shown, as a proxy of a real server does that turned bad. */
const repeats = (secrets: readonly string[]): Behaviour => {
  return (request, response) => {
    anywhere['a challenge']!(
      [...secrets, request.headers.authorization ?? ''].join(' ').replace(/[^ -~]|"/g, ''),
      request,
      response,
    );
    return true;
  };
};

interface Kind {
  url(origin: string): string;
  secret(canaries: Canaries, what: string): Record<string, string>;
  parrots: Record<string, Parrot>;
  challenge?: (origin: string) => string;
  token?: (canaries: Canaries, what: string) => string;
}

const login = (canaries: Canaries, what: string): Record<string, string> => ({
  username: canaries.plant(`${what}: username`),
  password: canaries.plant(`${what}: password`),
});
const bearer = (canaries: Canaries, what: string): Record<string, string> => ({
  bearerToken: canaries.plant(`${what}: bearerToken`),
});
const git = (origin: string): string => `git+${origin}/pack.git`;
const webDav = (origin: string): string => `webdav+${origin}/dav`;
const artifact = (origin: string): string => `oci+${origin}/skills:v1`;

const kinds: Record<string, Kind> = {
  'git with Basic': { url: git, secret: login, parrots: inProtocol.git },
  'git with a token': { url: git, secret: bearer, parrots: inProtocol.git },
  'WebDAV with Basic': {
    url: webDav,
    secret: login,
    parrots: inProtocol.webdav,
    challenge: () => 'Basic realm="files"',
  },
  'WebDAV with Digest': {
    url: webDav,
    secret: login,
    parrots: inProtocol.webdav,
    challenge: () => 'Digest realm="files", nonce="0123456789", algorithm=MD5, qop="auth"',
  },
  bucket: {
    url: (origin) => `s3+${origin}/bucket`,
    secret: (canaries, what) => ({
      accessKeyId: canaries.plant(`${what}: accessKeyId`),
      secretAccessKey: canaries.plant(`${what}: secretAccessKey`),
      sessionToken: canaries.plant(`${what}: sessionToken`),
    }),
    parrots: inProtocol.bucket,
  },
  'registry with Basic': {
    url: artifact,
    secret: login,
    parrots: inProtocol.registry,
    challenge: () => 'Basic realm="registry"',
  },
  'registry with tokens': {
    url: artifact,
    secret: login,
    parrots: inProtocol.registry,
    challenge: (origin) => `Bearer realm="${origin}/token",service="registry",scope="repository:skills:pull"`,
    token: (canaries, what) => canaries.plant(`${what}: a token that the server gives`),
  },
  publisher: {
    url: (origin) => `${origin}/.well-known/agent-skills/index.json`,
    secret: bearer,
    parrots: inProtocol.publisher,
  },
};

/** Each kind of server with each manner. */
const parrots: Group = async (canaries) => {
  const servers: ParrotServer[] = [];
  const sources: PlantedSource[] = [];
  for (const [kind, { url, secret, parrots: own, challenge, token }] of Object.entries(kinds)) {
    for (const [manner, parrot] of Object.entries({ ...anywhere, ...own })) {
      const what = `${kind} that repeats in ${manner}`;
      const keys = secret(canaries, what);
      const given = token?.(canaries, what);
      const secrets = [...Object.values(keys), ...(given === undefined ? [] : [given])];
      const server = await parrotServer({
        secrets,
        parrot,
        ...(challenge === undefined ? {} : { challenge }),
        ...(given === undefined ? {} : { token: given }),
      });
      servers.push(server);
      const { origin, heard } = server;
      sources.push({ name: `parrot-${sources.length}`, what, url: url(origin), secret: keys, works: false, heard });
    }
  }
  return {
    sources,
    plantShown: () => {},
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  };
};

const realGit: Group = async (canaries) => {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-planted-git-'));
  const repository = await GitFixture.create(join(root, 'pack.git'));
  await repository.commitFiles(files);
  const password = canaries.plant('git: password');
  const token = canaries.plant('git: bearerToken');
  const [byPassword, byToken, ssh] = await Promise.all([
    startGitServer({ root, authorization: basic('ada', password) }),
    startGitServer({ root, authorization: `Bearer ${token}` }),
    startSshServer(),
  ]);
  canaries.plant('SSH: identity', ssh.secret.identity.split('\n').toSorted((a, b) => b.length - a.length)[2]!);
  const source = (name: string, url: string, secret: Record<string, string>, turn: () => void): PlantedSource => ({
    name,
    what: name,
    url,
    secret,
    works: true,
    turn,
  });
  return {
    sources: [
      source('git-password', byPassword.sourceUrl('pack.git'), { username: 'ada', password }, () => {
        byPassword.behaviour = repeats([password]) as typeof byPassword.behaviour;
      }),
      source('git-token', byToken.sourceUrl('pack.git'), { bearerToken: token }, () => {
        byToken.behaviour = repeats([token]) as typeof byToken.behaviour;
      }),
      source('git-ssh', ssh.sourceUrl(join(root, 'pack.git')), ssh.secret, () => {
        ssh.after = { bytes: 100, next: 'cut' };
      }),
    ],
    plantShown: () => {},
    [Symbol.asyncDispose]: async () => {
      await Promise.all([byPassword.close(), byToken.close(), ssh.close()]);
      await rm(root, { recursive: true, force: true });
    },
  };
};

const realWebDav: Group = async (canaries) => {
  const servers = await Promise.all([
    startWebDavServer('Apache with Basic'),
    startWebDavServer('Apache with Digest'),
    startWebDavServer('nginx'),
  ]);
  const sources: PlantedSource[] = [];
  for (const server of servers) {
    await server.write(files);
    const changes = server.kind !== 'nginx';
    const password = canaries.plant(`${server.kind}: password`, ...(changes ? [] : [user.password]));
    if (changes) await server.setPassword(password);
    sources.push({
      name: `webdav-${sources.length}`,
      what: server.kind,
      url: server.sourceUrl(),
      spec: server.kind === 'Apache with Basic' ? { cache: 'Live' } : {},
      secret: { username: user.username, password },
      works: true,
      turn: () => {
        server.behaviour = repeats([changes ? password : '']);
      },
    });
  }
  return {
    sources,
    plantShown: () => plantAuthorizations(canaries, 'WebDAV', servers),
    [Symbol.asyncDispose]: async () => void (await Promise.all(servers.map((server) => server.close()))),
  };
};

const realBucket: Group = async (canaries) => {
  const server = await startBucketServer('versitygw');
  await server.put(files);
  for (const [key, value] of Object.entries(server.secret)) canaries.plant(`bucket: ${key}`, value);
  const turn = () => {
    server.behaviour = repeats([server.secret.accessKeyId!]);
  };
  return {
    sources: [{ name: 'bucket', what: 'bucket', url: server.sourceUrl(), secret: server.secret, works: true, turn }],
    plantShown: () => plantAuthorizations(canaries, 'bucket', [server]),
    [Symbol.asyncDispose]: () => server.close(),
  };
};

const realRegistries: Group = async (canaries) => {
  const servers = await Promise.all([startRegistry({ access: 'password' }), startRegistry({ access: 'tokens' })]);
  canaries.plant('registry: password', registryLogin.password);
  const sources: PlantedSource[] = [];
  const layer = gzipSync(tarOf(Object.entries(files).map(([name, content]) => ({ name, content }))));
  for (const server of servers) {
    await server.push('skills', 'v1', [{ bytes: layer }]);
    sources.push({
      name: `registry-${sources.length}`,
      what: `registry ${sources.length}`,
      url: server.sourceUrl('skills:v1'),
      secret: { '.dockerconfigjson': JSON.stringify({ auths: { [server.host]: registryLogin } }) },
      works: true,
      turn: () => {
        server.behaviour = repeats([registryLogin.password]);
      },
    });
  }
  return {
    sources,
    plantShown: () => plantAuthorizations(canaries, 'registry', servers),
    [Symbol.asyncDispose]: async () => void (await Promise.all(servers.map((server) => server.close()))),
  };
};

const realPublisher: Group = async (canaries) => {
  const token = canaries.plant('publisher: bearerToken');
  const folder = '/.well-known/agent-skills';
  const index = { skills: [{ name: 'one', description: 'x', files: ['SKILL.md'] }] };
  const answers: Record<string, string> = {
    [`${folder}/index.json`]: JSON.stringify(index),
    [`${folder}/one/SKILL.md`]: skillText('one'),
  };
  let bad = false;
  const { origin, server } = await impostor((request, response) => {
    if (bad) return void repeats([token])(request, response);
    if (request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end();
    const body = answers[request.url!];
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  const turn = () => {
    bad = true;
  };
  const url = `${origin}${folder}/index.json`;
  return {
    sources: [{ name: 'publisher', what: 'publisher', url, secret: { bearerToken: token }, works: true, turn }],
    plantShown: () => {},
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Secrets that are no good: what is said of them must not show them. */
const badSecrets: Group = async (canaries) => {
  const word = (what: string): string => canaries.plant(`a bad Secret: ${what}`);
  const certificate = (what: string): string =>
    `-----BEGIN CERTIFICATE-----\n${word(what)}\n-----END CERTIFICATE-----\n`;
  const key = (what: string): string =>
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${word(what)}\n-----END OPENSSH PRIVATE KEY-----\n`;
  const here = 'http://127.0.0.1:1';
  const docker = (what: string, text: (value: string) => string): [string, Record<string, string>] => [
    artifact(here),
    { '.dockerconfigjson': text(word(what)) },
  ];
  const bad: [string, Record<string, string>][] = [
    [git(here), { password: `${word('a password of two lines')}\nx` }],
    [git(here), { username: `${word('a username with a colon')}:x`, password: word('beside it') }],
    [git(here), { bearerToken: `${word('a token with blanks')} x\u0001` }],
    [git(here), { bearerToken: word('token'), password: word('a password beside a token') }],
    [git(here), { tokn: word('a key that there is not') }],
    [git('https://127.0.0.1:1'), { 'ca.crt': certificate('ca.crt') }],
    [git('https://127.0.0.1:1'), { 'ca.crt': word('ca.crt that is none') }],
    [
      'git+ssh://git@127.0.0.1:1/x',
      { identity: key('identity'), known_hosts: `127.0.0.1 ssh-ed25519 ${word('known_hosts')}` },
    ],
    [
      'git+ssh://git@127.0.0.1:1/x',
      { identity: word('an identity that is none'), known_hosts: word('known_hosts, too') },
    ],
    [webDav(here), { username: word('a user alone') }],
    [
      webDav(here),
      { username: `${word('a user with a colon')}:x`, password: `${word('a password of a few lines')}\n\nx` },
    ],
    [`s3+${here}/bucket`, { accessKeyId: word('accessKeyId alone') }],
    [
      `s3+${here}/bucket`,
      { accessKeyId: `${word('accessKeyId')}\u0001`, secretAccessKey: `${word('secretAccessKey')}\u0001` },
    ],
    [`${here}/.well-known/agent-skills/index.json`, { bearerToken: `${word('a token of a publisher')}\r\nx: y` }],
    docker('no JSON', (value) => value),
    docker('half of JSON', (value) => `{"auths": {"127.0.0.1:1": {"password": "${value}"`),
    docker('no auths', (value) => JSON.stringify({ auths: value })),
    docker('an auth that is no base64', (value) => JSON.stringify({ auths: { '127.0.0.1:1': { auth: `${value}!` } } })),
    docker('an auth without a colon', (value) =>
      JSON.stringify({ auths: { '127.0.0.1:1': { auth: Buffer.from(value).toString('base64') } } }),
    ),
    docker('an identity token', (value) => JSON.stringify({ auths: { '127.0.0.1:1': { identitytoken: value } } })),
  ];
  const sources = bad.map(([url, secret], at) => ({
    name: `bad-${at}`,
    what: `bad Secret ${at}`,
    url,
    secret,
    works: false,
  }));
  return { sources, plantShown: () => {}, [Symbol.asyncDispose]: async () => {} };
};

function plantAuthorizations(
  canaries: Canaries,
  what: string,
  servers: readonly { exchanges: readonly { authorization: string | undefined }[] }[],
): void {
  for (const authorization of new Set(servers.flatMap(({ exchanges }) => exchanges.map((one) => one.authorization))))
    if (authorization !== undefined) canaries.plant(`${what}: a header that was shown`, authorization);
}

export const groups: Record<string, Group> = {
  parrots,
  git: realGit,
  webdav: realWebDav,
  bucket: realBucket,
  registry: realRegistries,
  publisher: realPublisher,
  secrets: badSecrets,
};

/** URLs with a secret in them, which nobody may apply. */
export function refusedUrls(canaries: Canaries): string[] {
  const word = (what: string): string => canaries.plant(`in a URL: ${what}`);
  const host = 'skills.example.org';
  return [
    ...['git+https', 'git+http', 'webdav+https', 'webdav+http', 's3+https', 'oci', 'oci+http', 'https', 'http'].flatMap(
      (scheme) => [
        `${scheme}://ada:${word(`${scheme}, password`)}@${host}/a/b`,
        `${scheme}://${word(`${scheme}, user`)}@${host}/a/b`,
        `${scheme}://${host}/a/b?token=${word(`${scheme}, query`)}`,
        `${scheme}://${host}/a/b#${word(`${scheme}, fragment`)}`,
      ],
    ),
    `github://${word('github')}@obra/superpowers`,
    `github://obra/superpowers?token=${word('github, query')}`,
    `s3://${word('s3, user')}:x@bucket/skills`,
    `s3://bucket/skills?X-Amz-Signature=${word('s3, query')}`,
    `git+ssh://git:${word('git+ssh')}@${host}/a.git`,
    `git@${host}:${word('as git writes SSH')}`,
    `https://ada:${word('an index, password')}@${host}/.well-known/agent-skills/index.json`,
    `https://${host}/.well-known/agent-skills/index.json?token=${word('an index, query')}`,
    `configmap://${word('configmap')}@handbook`,
    `file://${word('file')}@host/x`,
    `ftp://ada:${word('another scheme')}@${host}/x`,
    `//ada:${word('no scheme')}@${host}/x`,
    `https://ada:${word('a port that is none')}@${host}:port/x`,
  ];
}
