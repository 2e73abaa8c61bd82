// Servers that are slow, silent, or lie: git, WebDAV, buckets, registries, publishers, SSH.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { GitFixture } from '../../fixtures/git-repository.ts';
import {
  answers,
  type Behaviour,
  cutsMidPack,
  dumb,
  endsMidPack,
  flipsByte,
  redirectsBelow,
  silent,
  stallsMidPack,
  startGitServer,
  type Tamper,
} from '../../fixtures/git-server.ts';
import { skillText } from '../../fixtures/operator.ts';
import { startSshServer } from '../../fixtures/ssh-server.ts';
import { startWebDavServer } from '../../fixtures/webdav-server.ts';
import { type Fate, type HostileSource, type HostileSources, impostor } from './case.ts';

const sha256 = (content: string | Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

/** A megabyte on the wire that is a gigabyte. */
const bomb = Buffer.concat(new Array<Buffer>(1024).fill(gzipSync(Buffer.alloc(2 ** 20, ' '))));

/** One byte now and then, for ever. */
const drips = (response: ServerResponse, byte = ' '): void => {
  const timer = setInterval(() => response.write(byte), 200);
  response.on('close', () => clearInterval(timer));
};

const impatient = { timeout: '5s' };

interface BadGit {
  behaviour?: (good: () => string) => Behaviour;
  tamper?: Tamper;
  spec?: object;
  fate: Fate;
}

const gitServers: Record<string, BadGit> = {
  'git: silent': { behaviour: () => silent, spec: impatient, fate: 'TimedOut' },
  'git: one byte now and then': {
    behaviour: () => (_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
      drips(response, '0');
      return true;
    },
    spec: impatient,
    fate: 'TimedOut',
  },
  'git: stops for ever in a pack': { tamper: stallsMidPack(), spec: impatient, fate: 'TimedOut' },
  'git: ends in a pack as if that were all': { tamper: endsMidPack(), fate: 'UpstreamInvalid' },
  'git: cuts the connection in a pack': { tamper: cutsMidPack(), fate: 'UpstreamInvalid' },
  'git: flips one bit of a pack': { tamper: flipsByte(40), fate: 'UpstreamInvalid' },
  'git: has moved (301)': { behaviour: (good) => redirectsBelow(good), fate: { skills: 1 } },
  'git: redirects in a circle': {
    behaviour: () => (request, response) => {
      response.writeHead(302, { location: request.url }).end();
      return true;
    },
    fate: 'UpstreamInvalid',
  },
  'git: gives files alone': { behaviour: () => dumb, fate: 'UpstreamInvalid' },
  'git: a sign-in page': { behaviour: () => answers(200, { 'content-type': 'text/html' }), fate: 'UpstreamInvalid' },
  'git: 401, 403, 404 in turn': { behaviour: () => answers(403), fate: 'AccessDenied' },
  'git: asks to slow down': { behaviour: () => answers(429, { 'retry-after': '3600' }), fate: 'RateLimited' },
  'git: an answer that unfolds to a gigabyte': {
    behaviour: () =>
      answers(200, { 'content-type': 'application/x-git-upload-pack-advertisement', 'content-encoding': 'gzip' }, bomb),
    fate: 'UpstreamInvalid',
  },
  'git: references without end': {
    behaviour: () => (_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
      const line = `003f${'1'.repeat(40)} refs/heads/${'x'.repeat(6)}\n`;
      const pour = (): void => {
        while (response.write(line.repeat(1000)));
      };
      response.write(`00a8${'1'.repeat(40)} HEAD\0${'side-band-64k shallow '.padEnd(110, 'x')}\n0`.slice(0, 10));
      response.on('drain', pour);
      pour();
      return true;
    },
    fate: 'UpstreamInvalid',
  },
};

async function hostileGit(root: string): Promise<HostileSources> {
  const good = await startGitServer({ root });
  const repo = await GitFixture.create(join(root, 'good.git'));
  await repo.commitFiles({ 'skills/good/SKILL.md': skillText('good'), 'skills/good/data': Buffer.alloc(100_000, 'x') });
  const servers = await Promise.all(
    Object.entries(gitServers).map(async ([what, { behaviour, tamper, spec, fate }], index) => {
      const server = await startGitServer({
        root,
        ...(behaviour === undefined ? {} : { behaviour: behaviour(() => `${good.origin}/good.git`) }),
        ...(tamper === undefined ? {} : { tamper }),
      });
      const source: HostileSource = {
        name: `git-${index}`,
        what,
        url: server.sourceUrl('good.git'),
        fate,
        ...(spec === undefined ? {} : { spec }),
      };
      return { server, source };
    }),
  );
  return {
    sources: servers.map(({ source }) => source),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([good, ...servers.map(({ server }) => server)].map((server) => server.close()));
    },
  };
}

const row = (href: string, properties: string, status = 'HTTP/1.1 200 OK'): string =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${properties}</d:prop><d:status>${status}</d:status></d:propstat></d:response>`;
const isFolder = '<d:resourcetype><d:collection/></d:resourcetype>';
const skill = skillText('good');
const isFile = `<d:resourcetype/><d:getcontentlength>${Buffer.byteLength(skill)}</d:getcontentlength><d:getetag>"1"</d:getetag>`;
const multistatus = (...rows: string[]): string =>
  `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${rows.join('')}</d:multistatus>`;

/** A 404 part before the good one, a row that may not be seen, names that lead out, another host. */
const listings: Record<string, string> = {
  '/dav/': multistatus(
    row('/dav/', isFolder),
    `<d:response><d:href>/dav/skills/</d:href><d:propstat><d:prop><d:x/></d:prop><d:status>HTTP/1.1 404 Not Found</d:status></d:propstat><d:propstat><d:prop>${isFolder}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`,
    '<d:response><d:href>/dav/closed.md</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>',
    row('/dav/../../etc/passwd', isFile),
    row('/dav/%2e%2e%2fx', isFile),
    row('/dav/100%.md', isFile),
    row('http://elsewhere.example.org/dav/y.md', isFile),
  ),
  '/dav/skills/': multistatus(row('/dav/skills/', isFolder), row('/dav/skills/good/', isFolder)),
  '/dav/skills/good/': multistatus(row('/dav/skills/good/', isFolder), row('/dav/skills/good/SKILL.md', isFile)),
};

const liar: RequestListener = (request, response) => {
  if (request.method === 'PROPFIND') {
    const listing = listings[request.url!];
    return void response.writeHead(listing === undefined ? 404 : 207).end(listing);
  }
  response.writeHead(request.url === '/dav/skills/good/SKILL.md' ? 200 : 404).end(skill);
};

const davSecret = { username: 'ada', password: 'x' };

/** Answers of one kind to everything. */
const everything =
  (status: number, headers: Record<string, string>, body: string | Buffer): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

const page = everything(200, { 'content-type': 'text/html' }, '<html>canary</html>');
const dripping: RequestListener = (_, response) => {
  response.writeHead(200);
  drips(response);
};
const mute: RequestListener = () => {};

interface BadHttp {
  listener: RequestListener;
  url(origin: string): string;
  spec?: object;
  secret?: Record<string, string>;
  fate: Fate;
}

const webDav = (origin: string): string => `webdav+${origin}/dav`;
const bucket = (origin: string): string => `s3+${origin}/bucket`;
const artifact = (origin: string): string => `oci+${origin}/skills:v1`;
const index = (origin: string): string => `${origin}/.well-known/agent-skills/index.json`;

const emptyListing =
  '<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>';

/** An index whose one document is not what its digest says, beside a good one. */
const falseIndex: RequestListener = (request, response) => {
  const folder = '/.well-known/agent-skills';
  const entry = (name: string, digest: string) => ({
    name,
    type: 'skill-md',
    description: 'x',
    url: `${name}/SKILL.md`,
    digest,
  });
  const skills = [entry('good', sha256(skillText('good'))), entry('false', sha256('another'))];
  const $schema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json';
  const files: Record<string, string> = {
    [`${folder}/index.json`]: JSON.stringify({ $schema, skills }),
    [`${folder}/good/SKILL.md`]: skillText('good'),
    [`${folder}/false/SKILL.md`]: skillText('false'),
  };
  const body = files[request.url!];
  response.writeHead(body === undefined ? 404 : 200).end(body);
};

const servers: Record<string, BadHttp> = {
  'WebDAV: a listing of every bad sort': {
    listener: liar,
    url: webDav,
    secret: davSecret,
    fate: { skills: 1, tells: ['BadFileName', 'AccessDenied'] },
  },
  'WebDAV: 304 to everything': {
    listener: everything(304, {}, ''),
    url: webDav,
    secret: davSecret,
    fate: 'UpstreamInvalid',
  },
  'WebDAV: a sign-in page': { listener: page, url: webDav, secret: davSecret, fate: 'UpstreamInvalid' },
  'WebDAV: silent': { listener: mute, url: webDav, secret: davSecret, spec: impatient, fate: 'TimedOut' },
  'WebDAV: one byte now and then': {
    listener: (_, response) => {
      response.writeHead(207);
      drips(response);
    },
    url: webDav,
    secret: davSecret,
    spec: impatient,
    fate: 'TimedOut',
  },
  'WebDAV: entities that multiply': {
    listener: everything(
      207,
      {},
      `<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">]><multistatus xmlns="DAV:">&a;</multistatus>`,
    ),
    url: webDav,
    secret: davSecret,
    fate: 'UpstreamInvalid',
  },
  'bucket: a listing without end': {
    listener: everything(200, { 'content-type': 'application/xml' }, emptyListing),
    url: bucket,
    spec: impatient,
    fate: 'UpstreamInvalid',
  },
  'bucket: silent': { listener: mute, url: bucket, spec: impatient, fate: 'TimedOut' },
  'bucket: a page': { listener: page, url: bucket, fate: 'UpstreamInvalid' },
  'registry: a page': { listener: page, url: artifact, fate: 'UpstreamInvalid' },
  'registry: silent': { listener: mute, url: artifact, spec: impatient, fate: 'TimedOut' },
  'registry: an answer that unfolds to a gigabyte': {
    listener: everything(
      200,
      { 'content-type': 'application/vnd.oci.image.manifest.v1+json', 'content-encoding': 'gzip' },
      bomb,
    ),
    url: artifact,
    fate: 'LimitExceeded',
  },
  'publisher: one document is not what its digest says': {
    listener: falseIndex,
    url: index,
    fate: { skills: 1, tells: ['NotFetched'] },
  },
  'publisher: one byte now and then': { listener: dripping, url: index, spec: impatient, fate: 'TimedOut' },
  'publisher: a page': { listener: page, url: index, fate: 'UpstreamInvalid' },
  'publisher: an index that unfolds to a gigabyte': {
    listener: everything(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, bomb),
    url: index,
    fate: 'LimitExceeded',
  },
};

async function hostileHttp(): Promise<HostileSources> {
  const started = await Promise.all(
    Object.entries(servers).map(async ([what, { listener, url, ...more }], index) => {
      const { origin, server } = await impostor(listener);
      return { server, source: { name: `http-${index}`, what, url: url(origin), ...more } };
    }),
  );
  return {
    sources: started.map(({ source }) => source),
    [Symbol.asyncDispose]: async () => {
      for (const { server } of started) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

/** A Digest server that does not take the password; an sshd with another key, and what is none. */
async function realServers(root: string): Promise<HostileSources> {
  const digest = await startWebDavServer('Apache with Digest');
  const [ssh, other] = await Promise.all([startSshServer(), startSshServer()]);
  const chatter = createServer((socket) => {
    socket.on('error', () => {});
    const timer = setInterval(() => socket.write('welcome to this machine\r\n'), 50);
    socket.on('close', () => clearInterval(timer));
  });
  chatter.listen(0, '127.0.0.1');
  await new Promise((resolve) => chatter.once('listening', resolve));
  const { port } = chatter.address() as { port: number };
  const knownAs = (at: number): string => other.secret.known_hosts.replaceAll(`:${other.port}`, `:${at}`);
  const repository = join(root, 'good.git');
  return {
    sources: [
      {
        name: 'digest',
        what: 'WebDAV with Digest: a wrong password',
        url: digest.sourceUrl(),
        secret: { username: 'ada', password: 'wrong' },
        fate: 'AuthenticationFailed',
      },
      {
        name: 'ssh-key',
        what: 'SSH: another host key',
        url: ssh.sourceUrl(repository),
        secret: { ...ssh.secret, known_hosts: knownAs(ssh.port) },
        fate: 'TLSFailed',
      },
      {
        name: 'ssh-user',
        what: 'SSH: a key that it does not know',
        url: ssh.sourceUrl(repository),
        secret: { ...ssh.secret, identity: other.secret.identity },
        fate: 'AuthenticationFailed',
      },
      {
        name: 'ssh-none',
        what: 'SSH: lines without end before it says what it is',
        url: `git+ssh://git@127.0.0.1:${port}/x`,
        secret: { ...other.secret, known_hosts: knownAs(port) },
        spec: impatient,
        fate: 'TimedOut',
      },
    ],
    [Symbol.asyncDispose]: async () => {
      chatter.close();
      await Promise.all([digest.close(), ssh.close(), other.close()]);
    },
  };
}

export async function hostileServers(): Promise<HostileSources> {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-hostile-servers-'));
  const all = [await hostileGit(root), await hostileHttp(), await realServers(root)];
  return {
    sources: all.flatMap(({ sources }) => sources),
    [Symbol.asyncDispose]: async () => {
      for (const one of all) await one[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true });
    },
  };
}
