// Secrets are planted wherever one can stand: in specs, in Secrets that work and that do not, in what hostile servers repeat, in
// requests to every port. Afterwards everything that Lyceum has written or answered is searched for them.
// CANARIES=git,secrets plants those alone of the sources.
import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';
import { freePort } from '../fixtures/program.ts';
import { certificate } from '../kubernetes/certificates.ts';
import { callAll, crawl, type Door } from './canary/callers.ts';
import { Canaries, type Place } from './canary/canaries.ts';
import { groups, type PlantedSource, type PlantedSources, refusedUrls } from './canary/sources.ts';
import { type Outcome, type Proof, selection } from './proof.ts';
import { started } from './stage.ts';

/** Seconds until every source has been looked at, on a slow machine. */
const longest = 180;
/** Where nobody listens. */
const nobody = 'git+http://127.0.0.1:1/x';
const talkative = ['--log-level', 'trace'];
const pages = [
  'GET /',
  'GET /libraries',
  'GET /sources',
  'GET /skills',
  'GET /search.json?q=one',
  'GET /health',
  'GET /livez',
  'GET /readyz',
  'GET /openapi.yaml',
  'GET /.well-known/agent-skills/index.json',
  'GET /nothing',
  'POST /mcp',
  'POST /reindex',
];

// biome-ignore lint/suspicious/noExplicitAny: an object of the API server
type Anything = any;

export const canary: Proof = {
  name: 'canary',
  says: 'secrets in URLs, Secrets, tokens and headers are found in no log, event, status, metric, page, answer or file',
  async run(progress): Promise<Outcome> {
    const chosen = selection('CANARIES', Object.keys(groups));
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-planted-'));
    const canaries = new Canaries();
    const planted: PlantedSources[] = [];
    try {
      for (const name of chosen) planted.push(await groups[name]!(canaries));
      await using scene = await Scene.open(
        folder,
        canaries,
        planted.flatMap(({ sources }) => sources),
      );
      await scene.play(progress);
      for (const one of planted) one.plantShown();
      const places = await scene.places();
      const found = places.flatMap((place) => canaries.found(place));
      const broken = [...scene.broken, ...new Set(found)];
      broken.push(...(await scene.overlooked()));
      return {
        figures: {
          canaries: canaries.size,
          sources: scene.sources.length,
          'places searched': places.length,
          'bytes searched': places.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
          found: found.length,
        },
        broken,
      };
    } finally {
      for (const one of planted) await one[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Running {
  name: string;
  process: LyceumProcess;
}

/** A real API server with an operator, servers of two gateways and a copy, each as talkative as it can be. */
class Scene implements AsyncDisposable {
  readonly sources: readonly PlantedSource[];
  readonly broken: string[] = [];
  readonly #api: ApiServer;
  readonly #folder: string;
  readonly #namespace: string;
  readonly #canaries: Canaries;
  /** Of requests, refusals of the API server, and programs that have ended. */
  readonly #answers: Place[] = [];
  readonly #running: Running[] = [];
  readonly #watches: { kind: string; said: string[]; end(): void }[] = [];
  readonly #tokens: { good: string; unusable: string; webhook: string; signing: string };
  #doors: Door[] = [];
  #metrics: Door[] = [];

  private constructor(
    api: ApiServer,
    namespace: string,
    folder: string,
    canaries: Canaries,
    sources: readonly PlantedSource[],
  ) {
    this.#api = api;
    this.#namespace = namespace;
    this.#folder = folder;
    this.#canaries = canaries;
    this.sources = sources;
    this.#tokens = {
      good: canaries.plant('a token of the gateway'),
      unusable: canaries.plant('a token of the gateway that is none'),
      webhook: canaries.plant('the token of a webhook'),
      signing: canaries.plant('the signing token of a webhook'),
    };
  }

  static async open(folder: string, canaries: Canaries, sources: readonly PlantedSource[]): Promise<Scene> {
    const api = await apiServer();
    return new Scene(api, await api.namespace(), folder, canaries, sources);
  }

  async play(progress: (line: string) => void): Promise<void> {
    const steps: Record<string, () => Promise<void>> = {
      'URLs with secrets are refused': () => this.#refusals(),
      'programs run': () => this.#start(),
      'sources are looked at': () => this.#fates(),
      'every port is called': () => this.#calls(),
      'sources that worked turn bad': () => this.#turn(),
      'and every port is called again': () => this.#calls(),
      'a laptop does the same': () => this.#laptop(),
    };
    for (const [what, step] of Object.entries(steps)) {
      const began = performance.now();
      await step();
      progress(`${what}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
    }
  }

  #kubectl(...args: string[]): Promise<string> {
    return this.#api.kubectl(['-n', this.#namespace, ...args]);
  }

  /** Not applied: that would write what is given into an annotation. */
  async #create(...objects: object[]): Promise<void> {
    await this.#api.kubectl(
      ['-n', this.#namespace, 'create', '-f', '-'],
      objects.map((object) => stringify(object)).join('---\n'),
    );
  }

  async #refusals(): Promise<void> {
    const path = `/apis/lyceum.dev/v1alpha1/namespaces/${this.#namespace}/skillsources`;
    for (const [at, url] of refusedUrls(this.#canaries).entries()) {
      const { status, body } = await this.#api.request('POST', path, source(`refused-${at}`, { url }));
      if (status !== 422) this.broken.push(`a URL with a secret is not refused: ${status}, refused-${at}`);
      this.#answers.push({ where: `the refusal of URL ${at}`, text: JSON.stringify(body) });
    }
  }

  async #start(): Promise<void> {
    const { good, unusable, webhook, signing } = this.#tokens;
    for (const kind of ['skillsources', 'skillgateways']) this.#watch(kind);
    const { kubeconfig, token } = await this.#api.operatorAccount(this.#namespace);
    this.#canaries.plant("the operator's token", token);
    await this.#create(
      secret('tokens', { n8n: good, broken: `${unusable} with blanks` }),
      secret('hook', { token: webhook }),
      secret('signing', { token: `whsec_${signing}!` }),
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'one' },
        data: { 'skills__one__SKILL.md': skillText('one') },
      },
      source('one', { url: 'configmap://one' }),
      source('hooked', { url: nobody, webhook: { provider: 'Generic', secretRef: { name: 'hook' } } }),
      source('signed', { url: nobody, webhook: { provider: 'GitLab', secretRef: { name: 'signing' } } }),
      gateway('open', {}),
      gateway('locked', { auth: { tokens: { secretRef: { name: 'tokens' } } } }),
      ...this.sources.flatMap((one) => [
        secret(one.name, one.secret),
        source(one.name, { url: one.url, timeout: '20s', ...one.spec, secretRef: { name: one.name } }),
      ]),
    );
    const { cert, key } = await certificate(this.#folder, 'operator');
    this.#canaries.plant("the key of the operator's certificate", key.toString().split('\n')[1]!);
    const tls = join(this.#folder, 'tls');
    await mkdir(tls);
    for (const end of ['crt', 'key']) await copyFile(join(this.#folder, `operator.${end}`), join(tls, `tls.${end}`));
    await copyFile(join(this.#folder, 'operator.crt'), join(tls, 'ca.crt'));
    const [callers, webhooks, probes, metrics, syncing] = await Promise.all(Array.from({ length: 5 }, freePort));
    const operator = this.#run('operator', [
      ...['operator', '--kubeconfig', kubeconfig, '--namespaces', this.#namespace, '--volume', this.#volume],
      ...['--allow-loopback', '--concurrent-fetches', '16', '--lease', 'lyceum', '--pod-address', '127.0.0.1'],
      ...['--probes-port', String(probes), '--metrics-port', String(metrics), '--webhooks-port', String(webhooks)],
      ...['--callers-port', String(callers), '--tls-folder', tls, '--callers-url', `https://127.0.0.1:${callers}`],
      ...['--callers-ca-secret', 'lyceum-tls', '--volume-claim', 'lyceum', '--gateway-image', 'lyceum:test', '--sync'],
      ...['--operator-namespace', this.#namespace],
    ]);
    await started(operator);
    await this.#mount();
    const token1 = await this.#podToken('open');
    const operatorUrl = ['--operator-url', `https://127.0.0.1:${callers}`, '--operator-ca', join(tls, 'ca.crt')];
    const identity = [...operatorUrl, '--operator-token', join(this.#folder, 'token')];
    await writeFile(join(this.#folder, 'token'), token1);
    const open = await this.#server('open', identity);
    const locked = await this.#server(
      'locked',
      operatorUrl.concat('--operator-token', join(this.#folder, 'token-locked')),
    );
    this.#run('sync', [
      ...['sync', '--volume', join(this.#folder, 'copy'), '--namespace', this.#namespace, '--gateway', 'open'],
      ...[...identity, '--host', '127.0.0.1', '--sync-port', String(syncing)],
    ]);
    const plain = (name: string, port: number | undefined, ...paths: string[]): Door => ({
      name,
      origin: `http://127.0.0.1:${port}`,
      paths: paths.map((path) => `GET ${path}`),
      mcp: false,
    });
    const hooks = ['hooked', 'signed', 'nobody'].map((name) => `POST /hooks/${this.#namespace}/${name}`);
    const copies = ['index.json', 'source?digest=x', 'segment?digest=x'].map((path) => `GET /catalogue/${path}`);
    this.#metrics = [
      plain('probes of the operator', probes, '/healthz', '/readyz'),
      plain('metrics of the operator', metrics, '/metrics'),
      plain('the copy', syncing, '/metrics', '/startz', '/readyz', '/healthz'),
      ...[open, locked].map(({ name, port }) => plain(`metrics of ${name}`, port, '/metrics')),
    ];
    this.#doors = [
      { name: 'open', origin: open.url, paths: pages, mcp: true },
      { name: 'locked', origin: locked.url, paths: pages, mcp: true, token: good },
      { name: 'webhooks', origin: `http://127.0.0.1:${webhooks}`, paths: hooks, mcp: false, token: webhook },
      {
        name: 'the port for servers',
        origin: `https://127.0.0.1:${callers}`,
        paths: ['POST /reindex', 'POST /counts', ...copies],
        mcp: false,
        token: token1,
        ca: cert,
      },
      ...this.#metrics,
    ];
  }

  get #volume(): string {
    return join(this.#folder, 'volume');
  }

  #run(name: string, args: readonly string[]): LyceumProcess {
    const process = new LyceumProcess([...args, ...talkative]);
    this.#running.push({ name, process });
    return process;
  }

  /** Each status that there ever is, for those that are gone when it is searched. */
  #watch(kind: string): void {
    const path = ['get', kind, '--watch', '-o', 'jsonpath={.status}{"\\n"}', '-n', this.#namespace];
    const child = spawn(join(this.#api.bin, 'kubectl'), ['--kubeconfig', this.#api.kubeconfig, ...path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const said: string[] = [];
    child.stdout.on('data', (piece) => said.push(String(piece)));
    this.#watches.push({ kind, said, end: () => child.kill() });
  }

  /** Secrets of Live sources, as their pods have them. */
  async #mount(): Promise<void> {
    for (const { name, spec, secret: keys } of this.sources) {
      if ((spec as { cache?: string } | undefined)?.cache !== 'Live') continue;
      await mkdir(join(this.#folder, 'live', name), { recursive: true });
      for (const [key, value] of Object.entries(keys)) await writeFile(join(this.#folder, 'live', name, key), value);
    }
  }

  async #podToken(name: string): Promise<string> {
    const labels = `app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=${name}`;
    const find = async (): Promise<string | undefined> => {
      const { items } = JSON.parse(await this.#kubectl('get', 'pods', '-l', labels, '-o', 'json'));
      return items[0]?.metadata.name;
    };
    const pod = await eventually('a pod of the gateway', find, Boolean, 60);
    const bound = ['--audience', 'lyceum', '--bound-object-kind', 'Pod', '--bound-object-name', pod!];
    const token = (await this.#kubectl('create', 'token', 'default', ...bound)).trim();
    return this.#canaries.plant(`the token of a pod of ${name}`, token);
  }

  async #server(name: string, operator: readonly string[]): Promise<{ name: string; url: string; port: number }> {
    if (name === 'locked')
      await writeFile(join(this.#folder, 'token-locked'), this.#canaries.plant('a token that is none'));
    const port = await freePort();
    const server = this.#run(`the server of ${name}`, [
      ...['server', '--volume', this.#volume, '--namespace', this.#namespace, '--gateway', name, '--host', '127.0.0.1'],
      ...['--port', '0', '--metrics-port', String(port), ...operator],
      ...['--live-secrets', join(this.#folder, 'live'), '--allow-loopback'],
    ]);
    const listens = (): string | undefined =>
      server.log.find(({ msg }) => msg === 'server started')?.url as string | undefined;
    return { name, url: (await eventually(`the server of ${name}`, listens, Boolean, 60))!, port };
  }

  async #readiness(): Promise<Map<string, string>> {
    const { items } = JSON.parse(await this.#kubectl('get', 'skillsources', '-o', 'json'));
    return new Map(
      (items as Anything[]).map(({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }: Anything) => type === 'Ready');
        return [metadata.name, `${ready?.status}/${ready?.reason}`];
      }),
    );
  }

  /** Waits until each source is as it should be; tells of those that are not. */
  async #until(wanted: ReadonlyMap<string, boolean>): Promise<void> {
    const strays = async (): Promise<string[]> => {
      const found = await this.#readiness();
      return [...wanted].flatMap(([name, works]) => {
        const is = found.get(name) ?? 'nothing';
        const fits = works ? is === 'True/Succeeded' : /^False\/(?!Progressing)/.test(is);
        return fits ? [] : [`${this.sources.find((one) => one.name === name)?.what}: ${is}`];
      });
    };
    let left: string[] = [];
    const none = (all: string[]): boolean => {
      left = all;
      return all.length === 0;
    };
    await eventually('each source is looked at', strays, none, longest).catch(() => this.broken.push(...left));
  }

  async #fates(): Promise<void> {
    await this.#until(new Map(this.sources.map(({ name, works }) => [name, works])));
    for (const { what, heard } of this.sources)
      if (heard?.() === false) this.broken.push(`${what}: it was shown no secret, so this proves nothing`);
  }

  async #turn(): Promise<void> {
    const good = this.sources.filter(({ works }) => works);
    for (const { turn } of good) turn?.();
    for (const { name } of good)
      await this.#kubectl('annotate', 'skillsource', name, `lyceum.dev/requestedAt=${Date.now()}`, '--overwrite');
    await this.#until(new Map(good.map(({ name }) => [name, false])));
  }

  async #calls(): Promise<void> {
    for (const door of this.#doors) this.#answers.push(...(await callAll(this.#canaries, door)));
    for (const door of this.#doors.filter(({ mcp }) => mcp)) {
      this.#answers.push(
        ...(await crawl(door, ['/', '/sources', '/skills', ...this.sources.map(({ name }) => `/sources/${name}`)])),
      );
    }
    for (const door of this.#metrics) {
      const paths = door.paths.map((path) => path.replace('GET ', ''));
      this.#answers.push(...(await crawl(door, paths)));
    }
  }

  /** `lyceum run` and `lyceum check` on the same sources, with what no API server has refused before. */
  async #laptop(): Promise<void> {
    const manifests = join(this.#folder, 'manifests');
    await mkdir(manifests);
    const variable = this.#canaries.plant('a variable of a Secret');
    const urls = refusedUrls(this.#canaries);
    const objects = [
      gateway('agents', {}),
      ...this.sources.flatMap((one) => [
        secret(one.name, one.secret),
        source(one.name, { url: one.url, timeout: '20s', ...one.spec, secretRef: { name: one.name } }),
      ]),
      ...urls.map((url, at) => source(`refused-${at}`, { url })),
      secret('variable', { password: '$(CANARY)', bearerToken: '$(CANARY_THAT_IS_NOT_SET)' }),
      source('variable', { url: nobody, secretRef: { name: 'variable' } }),
    ];
    await writeFile(join(manifests, 'all.yaml'), objects.map((object) => stringify(object)).join('---\n'));
    const broken = this.#canaries.plant('a manifest that is no YAML');
    await writeFile(join(manifests, 'broken.yaml'), `kind: Secret\nstringData: {password: "${broken}\n  - [`);
    const env = { CANARY: variable };
    const volume = ['--volume', join(this.#folder, 'laptop')];
    const run = new LyceumProcess(['run', manifests, '--port', '0', ...volume, ...talkative], { env });
    this.#running.push({ name: 'lyceum run', process: run });
    const names = [...this.sources.map(({ name }) => name), ...urls.map((_, at) => `refused-${at}`), 'variable'];
    const untold = (): string[] => names.filter((name) => !new RegExp(`^${name} .* False `, 'm').test(run.said));
    const none = (left: string[]): boolean => left.length === 0;
    await eventually('lyceum run says what it found', untold, none, longest).catch(() => {
      this.broken.push(`lyceum run says nothing of ${untold().join(', ')}`);
    });
    // One in five: each form of each scheme has its turn, and the manifests hold them all.
    for (const what of [manifests, ...urls.filter((_, at) => at % 5 === 0)]) {
      await using check = new LyceumProcess(['check', what], { env });
      await check.ended();
      this.#answers.push({ where: 'what lyceum check says', text: check.said });
    }
  }

  /** All that is to be searched. */
  async places(): Promise<Place[]> {
    for (const { end } of this.#watches) end();
    return [
      ...this.#answers,
      ...this.#running.map(({ name, process }) => ({ where: `what ${name} says`, text: process.said })),
      ...this.#watches.map(({ kind, said }) => ({ where: `a status of ${kind}`, text: said.join('') })),
      ...(await this.#objects()),
      ...(await filesOf(this.#volume, 'the volume')),
      ...(await filesOf(join(this.#folder, 'copy'), 'the copy')),
      ...(await filesOf(join(this.#folder, 'laptop'), 'the volume of lyceum run')),
    ];
  }

  /** All of the namespace, but Secrets, and the specs that users have written. */
  async #objects(): Promise<Place[]> {
    const kinds = (await this.#kubectl('api-resources', '--verbs=list', '--namespaced', '-o', 'name'))
      .trim()
      .split('\n');
    const places: Place[] = [];
    for (const kind of kinds.filter((name) => name !== 'secrets')) {
      const { code, stdout } = await this.#api.tryKubectl([
        '-n',
        this.#namespace,
        'get',
        kind,
        '-o',
        'json',
        '--show-managed-fields',
      ]);
      if (code !== 0) continue;
      for (const object of JSON.parse(stdout).items as Anything[]) {
        if (object.apiVersion === 'lyceum.dev/v1alpha1') delete object.spec;
        places.push({ where: `${kind} ${object.metadata.name}`, text: JSON.stringify(object) });
      }
    }
    return places;
  }

  /** @returns what a search misses that is there: then it proves nothing of what it does not find */
  async overlooked(): Promise<string[]> {
    const { items } = JSON.parse(await this.#kubectl('get', 'secrets', '-o', 'json'));
    const missed = (items as Anything[]).filter(({ metadata, data }) => {
      if (!this.sources.some(({ name }) => name === metadata.name)) return false;
      const decoded = Object.values(data as Record<string, string>).map((value) =>
        Buffer.from(value, 'base64').toString(),
      );
      return this.#canaries.found({ where: metadata.name, text: decoded.join('\n') }).length === 0;
    });
    return missed.map(({ metadata }) => `the search misses what stands in the Secret ${metadata.name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { end } of this.#watches) end();
    for (const { process } of this.#running) await process[Symbol.asyncDispose]();
  }
}

const metadataOf = (name: string): object => ({ name });
const secret = (name: string, stringData: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: metadataOf(name),
  stringData,
});
const source = (name: string, spec: object): object => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillSource',
  metadata: metadataOf(name),
  spec,
});
const gateway = (name: string, spec: object): object => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillGateway',
  metadata: metadataOf(name),
  spec,
});

async function filesOf(folder: string, what: string): Promise<Place[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const places = entries
    .filter((entry) => entry.isFile())
    .map(async (entry): Promise<Place[]> => {
      const path = join(entry.parentPath, entry.name);
      const name = relative(folder, path);
      // One that is collected meanwhile is gone.
      const text = await readFile(path).catch(() => undefined);
      return text === undefined
        ? []
        : [
            { where: `${what}: ${name}`, text },
            { where: `a name on ${what}`, text: name },
          ];
    });
  return (await Promise.all(places)).flat();
}
