// Many sources, skills and gateways: nothing is written and next to nothing computed while nothing changes, and what changed while
// the operator was away is served within a minute of its return. SOURCES=20 and SKILLS=10 (of each source) make it smaller, QUIET=10
// watches it for so many seconds.
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { startGitServer } from '../fixtures/git-server.ts';
import type { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { type Outcome, type Proof, size } from './proof.ts';
import { Stage, started } from './stage.ts';

const bars = {
  /** Of one processor, in a hundred, while nothing changes. */
  processor: 3,
  /** Until what changed is served. */
  backlogSeconds: 60,
};
const gateways = 10;
/** One in so many sources changes while the operator is away. */
const changing = 5;
const kinds = ['git', 'configmap', 'file'] as const;

// biome-ignore lint/suspicious/noExplicitAny: an object of the API server
type Anything = any;

export const scale: Proof = {
  name: 'scale',
  says: '100 sources, 10,000 skills, 10 gateways: no writes and CPU near zero at rest, a backlog drained within 60 s of a restart',
  async run(progress): Promise<Outcome> {
    const number = size('SOURCES', 100);
    const skills = size('SKILLS', 100);
    const quiet = size('QUIET', 60);
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-scale-'));
    const broken: string[] = [];
    const git = await startGitServer({ root: join(folder, 'git') });
    try {
      const stage = await Stage.open(join(folder, 'volume'));
      const crowd = new Crowd(stage, folder, number, skills, (name) => git.sourceUrl(name));
      await crowd.write(1);
      await crowd.apply();
      const flags = ['--allow-loopback', '--file-root', join(folder, 'files')];
      let began = performance.now();
      const first = stage.operator({}, flags);
      await started(first);
      await crowd.served(1, () => true, 600);
      const harvest = secondsSince(began);
      progress(`${number * skills} skills were harvested within ${harvest} s`);

      const before = await measured(first, folder);
      await pause(quiet * 1000);
      const after = await measured(first, folder);
      const writes = after.writes - before.writes;
      const processor = (100 * (after.processorSeconds - before.processorSeconds)) / quiet;
      const changed = [...after.files].filter(([path, stamp]) => before.files.get(path) !== stamp);
      progress(`at rest for ${quiet} s: ${writes} writes, ${processor.toFixed(1)} % of a processor`);
      if (writes > 0) broken.push(`${writes} writes to the API server while nothing changed`);
      if (changed.length > 0) broken.push(`${changed.length} files were written, ${changed[0]![0]} among them`);
      if (processor > bars.processor) broken.push(`${processor.toFixed(1)} % of a processor while nothing changed`);
      first.kill('SIGTERM');
      await first.ended();

      const isChanging = (at: number) => at % changing === 0;
      await crowd.write(2, isChanging);
      began = performance.now();
      await using second = stage.operator({}, flags);
      await started(second);
      await crowd.served(2, isChanging, bars.backlogSeconds).catch((error: Error) => broken.push(error.message));
      const backlog = secondsSince(began);
      return {
        figures: {
          sources: number,
          skills: number * skills,
          gateways,
          's for the first harvest': harvest,
          writes,
          '% of a processor at rest': Number(processor.toFixed(1)),
          'MB at most': after.resident,
          's until a backlog was served': backlog,
        },
        broken,
      };
    } finally {
      await git.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const secondsSince = (began: number): number => Number(((performance.now() - began) / 1000).toFixed(1));

/** Sources of three kinds in turn, and gateways that share them out. */
class Crowd {
  readonly #stage: Stage;
  readonly #folder: string;
  readonly #names: string[];
  readonly #skills: number;
  readonly #gitUrl: (name: string) => string;
  readonly #repositories = new Map<string, GitFixture>();

  constructor(stage: Stage, folder: string, sources: number, skills: number, gitUrl: (name: string) => string) {
    this.#stage = stage;
    this.#folder = folder;
    this.#skills = skills;
    this.#gitUrl = gitUrl;
    this.#names = Array.from({ length: sources }, (_, at) => `${kinds[at % kinds.length]}-${at}`);
  }

  /** The content of those that are chosen, in this edition. */
  async write(edition: number, chosen: (at: number) => boolean = () => true): Promise<void> {
    const maps: object[] = [];
    for (const [at, name] of this.#names.entries()) {
      if (!chosen(at)) continue;
      const files = this.#files(edition);
      if (name.startsWith('git')) {
        const repository =
          this.#repositories.get(name) ?? (await GitFixture.create(join(this.#folder, 'git', `${name}.git`)));
        this.#repositories.set(name, repository);
        await repository.commitFiles(files);
        await repository.repack();
      } else if (name.startsWith('file')) {
        for (const [path, text] of Object.entries(files)) {
          const file = join(this.#folder, 'files', name, path);
          await mkdir(join(file, '..'), { recursive: true });
          await writeFile(file, text);
        }
      } else {
        const data = Object.fromEntries(
          Object.entries(files).map(([path, text]) => [path.replaceAll('/', '__'), text]),
        );
        maps.push({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: this.#stage.namespace, name }, data });
      }
    }
    await this.#create(maps);
  }

  /** The sources, each with the label of one gateway, and the gateways. */
  async apply(): Promise<void> {
    const { namespace } = this.#stage;
    const custom = (kind: string, metadata: object, spec: object) => ({
      apiVersion: 'lyceum.dev/v1alpha1',
      kind,
      metadata: { namespace, ...metadata },
      spec,
    });
    const url = (name: string): string => {
      if (name.startsWith('git')) return this.#gitUrl(`${name}.git`);
      return name.startsWith('file') ? `file:///${name}` : `configmap://${name}`;
    };
    await this.#create([
      ...Array.from({ length: gateways }, (_, at) =>
        custom('SkillGateway', { name: `door-${at}` }, { sources: { selector: { matchLabels: { door: `d${at}` } } } }),
      ),
      ...this.#names.map((name, at) =>
        custom('SkillSource', { name, labels: { door: `d${at % gateways}` } }, { url: url(name), refresh: '5m' }),
      ),
    ]);
  }

  /** Resolves when those that are chosen are served in this edition, and every gateway is ready. */
  async served(edition: number, chosen: (at: number) => boolean, seconds: number): Promise<void> {
    const { namespace, volume } = this.#stage;
    const wanted = this.#names.filter((_, at) => chosen(at));
    const late = async (): Promise<string[]> => {
      const found: string[] = [];
      const sources = new Map<string, Anything>();
      for (let at = 0; at < gateways; at++) {
        const path = join(volume, 'gateways', namespace, `door-${at}`, 'index.json');
        const index = await readFile(path, 'utf8').then(
          (text) => JSON.parse(text) as Anything,
          () => undefined,
        );
        for (const source of index?.sources ?? []) sources.set(source.name, source);
      }
      for (const name of wanted) {
        const catalogue = sources.get(name)?.catalogue?.path;
        const text = catalogue === undefined ? '' : await readFile(join(volume, catalogue), 'utf8').catch(() => '');
        if (!text.includes(`Edition ${edition}.`)) found.push(name);
      }
      return found;
    };
    await eventually(`edition ${edition} of ${wanted.length} sources`, late, ({ length }) => length === 0, seconds);
  }

  #files(edition: number): Record<string, string> {
    return Object.fromEntries(
      Array.from({ length: this.#skills }, (_, at) => [
        `skills/skill-${at}/SKILL.md`,
        `---\nname: skill-${at}\ndescription: Edition ${edition}. Number ${at} of many, that says when it is to be used.\n---\n${'Some words of help. '.repeat(40)}\n`,
      ]),
    );
  }

  /** In portions, by server-side apply: an annotation could not hold what was applied last. */
  async #create(objects: readonly object[]): Promise<void> {
    for (let from = 0; from < objects.length; from += 20) {
      const text = objects
        .slice(from, from + 20)
        .map((object) => stringify(object))
        .join('---\n');
      await this.#stage.api.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], text);
    }
  }
}

interface Measured {
  /** Requests to the API server that change something. */
  writes: number;
  processorSeconds: number;
  /** In megabytes, the most so far. */
  resident: number;
  /** Every file of the volume, with what changes when it is written. */
  files: Map<string, string>;
}

async function measured(operator: LyceumProcess, folder: string): Promise<Measured> {
  const { metricsPort } = operator.log.find(({ msg }) => msg === 'operator started') as unknown as {
    metricsPort: number;
  };
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const requests = metrics.matchAll(
    /^rest_client_requests_total\{[^}]*method="(?:PUT|PATCH|POST|DELETE)"[^}]*\} (\d+)$/gm,
  );
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  const status = await readFile(`/proc/${operator.pid}/status`, 'utf8');
  const files = new Map<string, string>();
  const volume = join(folder, 'volume');
  for (const entry of await readdir(volume, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { ino, mtimeMs } = await stat(path);
    files.set(path, `${ino} ${mtimeMs}`);
  }
  return {
    writes: [...requests].reduce((sum, [, times]) => sum + Number(times), 0),
    processorSeconds: value('process_cpu_seconds_total'),
    resident: Math.round((Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1_000_000),
    files,
  };
}
