// What proofs of the operator are played on: a real API server with a source of editions and a gateway, and programs on one volume.
import { stringify } from 'yaml';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { configMapOf, listSkills } from './editions.ts';

const ports = ['--probes-port', '0', '--metrics-port', '0'];

export interface Server extends AsyncDisposable {
  /** Of MCP. */
  url: string;
}

export class Stage {
  readonly api: ApiServer;
  readonly namespace: string;
  readonly volume: string;
  readonly #kubeconfig: string;

  private constructor(api: ApiServer, namespace: string, kubeconfig: string, volume: string) {
    this.api = api;
    this.namespace = namespace;
    this.volume = volume;
    this.#kubeconfig = kubeconfig;
  }

  /** Edition 1 is written, nothing runs yet. */
  static async open(volume: string): Promise<Stage> {
    const api = await apiServer();
    const namespace = await api.namespace();
    const { kubeconfig } = await api.operatorAccount(namespace);
    const custom = (kind: string, name: string, spec: object): object => ({
      apiVersion: 'lyceum.dev/v1alpha1',
      kind,
      metadata: { namespace, name },
      spec,
    });
    const objects = [
      configMapOf(namespace, 1),
      custom('SkillSource', 'editions', { url: 'configmap://editions' }),
      custom('SkillGateway', 'agents', {}),
    ];
    await api.kubectl(['apply', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));
    return new Stage(api, namespace, kubeconfig, volume);
  }

  /** @param flags more of its own */
  operator(env: NodeJS.ProcessEnv = {}, flags: readonly string[] = []): LyceumProcess {
    const { namespace, volume } = this;
    return new LyceumProcess(
      ['operator', '--kubeconfig', this.#kubeconfig, '--namespaces', namespace, '--volume', volume, ...ports, ...flags],
      { env },
    );
  }

  /** Resolves when it listens, ready or not. */
  async server(): Promise<Server> {
    const server = new LyceumProcess([
      ...['server', '--volume', this.volume, '--namespace', this.namespace, '--gateway', 'agents'],
      ...['--host', '127.0.0.1', '--port', '0', '--metrics-port', '0'],
    ]);
    const listens = (): string | undefined =>
      server.log.find(({ msg }) => msg === 'server started')?.url as string | undefined;
    const address = await eventually('the server', listens, Boolean, 60);
    return { url: new URL('/mcp', address).href, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }
}

/** @throws Error what the operator said, where it has ended instead */
export async function started(operator: LyceumProcess): Promise<void> {
  const has = (): boolean => {
    if (!operator.running) throw new Error(operator.said);
    return operator.log.some(({ msg }) => msg === 'operator started');
  };
  await eventually('the operator has started', has, Boolean, 60);
}

/** @returns what is wrong, undefined where the edition is served within the time */
export async function missing(url: string, edition: number, seconds: number): Promise<string | undefined> {
  const is = (one: number): boolean => one === edition;
  return await eventually(`edition ${edition}`, () => listSkills(url), is, seconds).then(
    () => undefined,
    (error: Error) => error.message,
  );
}
