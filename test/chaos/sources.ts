// Every hostile source at once, in one operator: each is refused or survived by name, in bounded memory, and a good one is served
// as it changes all the while. SOURCES=silent takes those alone in whose words that stands.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { readIndex } from '../../catalogue/index-reader.ts';
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { eventually } from '../fixtures/eventually.ts';
import { listSkills, writeEdition } from './editions.ts';
import { type Outcome, type Proof, part } from './proof.ts';
import { Readers, wordsOf } from './readers.ts';
import { closedAddresses, deniedRange, names } from './sources/addresses.ts';
import type { Fate, HostileSource } from './sources/case.ts';
import { hostileRepositories } from './sources/repositories.ts';
import { hostileServers } from './sources/servers.ts';
import { Stage, started } from './stage.ts';

const megabyte = 1_000_000;
const mostResident = 300 * megabyte;
/** As the chart has its operator's Node keep its heap. */
const nodeOptions = '--max-semi-space-size=4';
/** Seconds until each source has found its fate; some are slow on purpose, and four are looked at at once. */
const longest = 240;

// biome-ignore lint/suspicious/noExplicitAny: an object of the API server
type Anything = any;

export const sources: Proof = {
  name: 'sources',
  says: 'each hostile source is refused or survived by name, closed addresses are never reached, memory under 300 MB',
  async run(progress): Promise<Outcome> {
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-sources-'));
    const broken: string[] = [];
    try {
      await using repositories = await hostileRepositories();
      await using servers = await hostileServers();
      await using addresses = await closedAddresses();
      const words = part('SOURCES');
      const chosen = (all: readonly HostileSource[]) => all.filter(({ what }) => what.includes(words));
      const hostile = chosen([...repositories.sources, ...servers.sources]);
      const closedOnes = chosen(addresses.sources);
      progress(`${hostile.length} hostile sources, ${closedOnes.length} closed addresses`);
      const reached = await withOperator(
        join(folder, 'open'),
        hostile,
        ['--allow-loopback'],
        { NODE_OPTIONS: nodeOptions },
        broken,
      );
      progress(`the hostile ones took ${Math.round(reached.resident / megabyte)} MB`);
      const preload = `--import=${join(import.meta.dirname, 'sources/resolver.ts')}`;
      const env = { NODE_OPTIONS: `${nodeOptions} ${preload}`, ADDRESSES: JSON.stringify(names) };
      const closed = ['--deny-cidr', deniedRange];
      const refused = await withOperator(join(folder, 'closed'), closedOnes, closed, env, broken);
      if (addresses.knocks() > 0) broken.push(`${addresses.knocks()} requests reached a closed address`);
      const resident = Math.max(reached.resident, refused.resident);
      if (resident >= mostResident) broken.push(`an operator took ${Math.round(resident / megabyte)} MB`);
      return {
        figures: {
          'hostile sources': hostile.length,
          'closed addresses': closedOnes.length,
          'MB at most': Math.round(resident / megabyte),
          editions: reached.editions + refused.editions,
          reads: reached.reads + refused.reads,
          faults: broken.length,
        },
        broken,
      };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Survived {
  /** The most memory that the operator had, in bytes. */
  resident: number;
  editions: number;
  reads: number;
}

/** Sources that are all applied at once, beside one that changes every second and is read. */
async function withOperator(
  volume: string,
  hostile: readonly HostileSource[],
  flags: readonly string[],
  env: NodeJS.ProcessEnv,
  broken: string[],
): Promise<Survived> {
  const stage = await Stage.open(volume);
  const { api, namespace } = stage;
  await using operator = stage.operator(env, flags);
  await started(operator);
  await using server = await stage.server();
  await eventually('the first edition', () => listSkills(server.url));
  let edition = 1;
  let over = false;
  const writing = (async () => {
    while (!over) {
      await writeEdition(api, namespace, edition + 1).then(
        () => (edition += 1),
        (error: unknown) => broken.push(`an edition was not written: ${wordsOf(error)}`),
      );
      await eventually(
        `edition ${edition}`,
        () => listSkills(server.url),
        (one) => one === edition,
        60,
      ).catch((error: Error) => broken.push(`beside hostile sources: ${error.message}`));
      await pause(1000);
    }
  })();
  const readers = new Readers(server.url, () => edition + 1, broken);
  try {
    if (hostile.length > 0)
      await api.kubectl(['apply', '-f', '-'], hostile.flatMap((source) => objectsOf(namespace, source)).join('---\n'));
    const left = new Map(hostile.map((source) => [source.name, source]));
    const found = new Map<string, string>();
    for (const deadline = Date.now() + longest * 1000; left.size > 0 && Date.now() < deadline; await pause(500)) {
      if (!operator.running) throw new Error(`the operator has ended: ${operator.said.slice(-3000)}`);
      const { items } = JSON.parse(await api.kubectl(['get', 'skillsources', '-n', namespace, '-o', 'json']));
      for (const { metadata, status } of items as Anything[]) {
        const source = left.get(metadata.name);
        if (source === undefined) continue;
        const fault = await strayed(volume, namespace, source, status);
        if (fault === undefined) left.delete(metadata.name);
        else found.set(metadata.name, fault);
      }
    }
    for (const [name, { what }] of left) broken.push(`${what}: ${found.get(name)}`);
    if (/canary/.test(operator.said)) broken.push('the log repeats what a hostile server sent');
  } finally {
    over = true;
    await writing;
    await readers.stop();
  }
  const status = await readFile(`/proc/${operator.pid}/status`, 'utf8');
  const resident = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  return { resident, editions: edition, reads: readers.reads };
}

/** @returns in what it differs from its fate; undefined where it has found it */
async function strayed(
  volume: string,
  namespace: string,
  { name, fate }: HostileSource,
  status: Anything,
): Promise<string | undefined> {
  const ready = status?.conditions?.find(({ type }: Anything) => type === 'Ready');
  const is = `${ready?.status} ${ready?.reason}: ${ready?.message}`;
  if (/canary/.test(JSON.stringify(status ?? {}))) return `the status repeats what was sent: ${is}`;
  if (typeof fate === 'string')
    return ready?.status === 'False' && ready.reason === fate ? undefined : `${is}, not ${fate}`;
  if (ready?.status !== 'True') return is;
  if (status.counts.skills !== fate.skills) return `${status.counts.skills} skills, not ${fate.skills}`;
  const told = (status.problems ?? []).map(({ reason }: Anything) => reason);
  const untold = (fate.tells ?? []).filter((reason) => !told.includes(reason));
  if (untold.length > 0) return `${untold.join(', ')} is not told: ${told.join(', ')}`;
  return await otherWords(volume, namespace, name, fate);
}

async function otherWords(
  volume: string,
  namespace: string,
  name: string,
  { described = {} }: Exclude<Fate, string>,
): Promise<string | undefined> {
  if (Object.keys(described).length === 0) return undefined;
  const row = (await readIndex(volume, namespace, 'agents')).sources.find((source) => source.name === name);
  if (row?.catalogue === undefined) return 'it is not in index.json';
  const { artifacts } = await readSourceCatalogue(volume, row.catalogue);
  for (const [address, description] of Object.entries(described)) {
    const found = artifacts.find((artifact) => artifact.address === address)?.description;
    if (found !== description) return `${address} is described by ${JSON.stringify(found)}`;
  }
  return undefined;
}

function objectsOf(namespace: string, { name, url, spec, secret }: HostileSource): string[] {
  const metadata = { namespace, name };
  const source = {
    apiVersion: 'lyceum.dev/v1alpha1',
    kind: 'SkillSource',
    metadata,
    spec: { url, refresh: '1h', ...spec, ...(secret === undefined ? {} : { secretRef: { name } }) },
  };
  const objects =
    secret === undefined ? [source] : [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: secret }, source];
  return objects.map((object) => stringify(object));
}
