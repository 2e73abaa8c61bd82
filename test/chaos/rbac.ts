// The operator with the rights that the chart grants and no other, at all of its work, under an audit log: nothing is refused, and
// nothing that is granted goes unused.
import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { helms, objects } from '../chart/helm.ts';
import { type OwnApiServer, ownApiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { freePort } from '../fixtures/program.ts';
import { certificate } from '../kubernetes/certificates.ts';
import type { Outcome, Proof } from './proof.ts';
import { type AuditEvent, asked, granted, type PolicyRule } from './rights.ts';
import { started } from './stage.ts';

const repository = join(import.meta.dirname, '../..');
const namespace = 'lyceum';
const callersHost = 'lyceum-operator.lyceum.svc';

/** Kinds that a gateway has, each with an edit of somebody else. */
const children: Record<string, object> = {
  deployment: { spec: { template: { spec: { automountServiceAccountToken: true } } } },
  service: { spec: { ports: [{ name: 'http', port: 8001 }] } },
  horizontalpodautoscaler: { spec: { maxReplicas: 50 } },
  poddisruptionbudget: { spec: { maxUnavailable: '100%' } },
  networkpolicy: { spec: { ingress: [] } },
  ingress: { spec: { ingressClassName: 'another' } },
  httproute: { spec: { hostnames: ['other.example.com'] } },
};
const optional = Object.keys(children).slice(2);

const everything = {
  autoscaling: { minReplicas: 2, maxReplicas: 6 },
  networkPolicy: { from: [{ namespaceSelector: { matchLabels: { agents: 'yes' } } }] },
  auth: { tokens: { secretRef: { name: 'tokens' } } },
  ingress: { host: 'skills.example.com' },
  httpRoute: { parentRefs: [{ name: 'public' }], hostnames: ['routed.example.com'] },
};

export const rbac: Proof = {
  name: 'rbac',
  says: 'rights as the chart grants them: everything works, nothing granted goes unused',
  async run(progress): Promise<Outcome> {
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-rbac-'));
    const broken: string[] = [];
    try {
      await using api = await ownApiServer('--audit');
      const rules = await grantedByTheChart(api);
      const definitions = execFileSync(join(repository, 'test/cluster/build.sh'), ['definitions'], {
        encoding: 'utf8',
      }).trim();
      await api.kubectl([
        'apply',
        '--server-side',
        '-f',
        join(definitions, 'gateway.networking.k8s.io_httproutes.yaml'),
      ]);
      const work = new Work(api, folder, progress);
      await work.all();
      const events = (await readFile(join(api.folder, 'audit.log'), 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as AuditEvent)
        .filter(({ user }) => user.username === `system:serviceaccount:${namespace}:lyceum`);
      const refused = events.filter(
        ({ responseStatus }) => responseStatus?.code === 403 || responseStatus?.code === 401,
      );
      for (const { verb, requestURI } of refused) broken.push(`refused: ${verb} ${requestURI}`);
      const used = new Set(events.flatMap(asked));
      const rights = granted(rules);
      for (const right of rights.difference(used)) broken.push(`granted and never used: ${right}`);
      for (const right of used.difference(rights)) broken.push(`used, though the chart does not grant it: ${right}`);
      return {
        figures: {
          requests: events.length,
          refused: refused.length,
          rights: rights.size,
          used: used.intersection(rights).size,
        },
        broken,
      };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Applies the chart's ServiceAccount, Roles and bindings alone. @returns the rules of the Roles */
async function grantedByTheChart(api: OwnApiServer): Promise<PolicyRule[]> {
  const [helm] = await helms();
  const all = await objects(helm!, { namespace, values: { replicas: 2 } });
  const kinds = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
  const rights = all.filter(({ kind }) => kinds.includes(kind));
  await api.kubectl(['create', 'namespace', namespace]);
  await api.kubectl(['apply', '-n', namespace, '-f', '-'], rights.map((object) => stringify(object)).join('---\n'));
  return rights.flatMap((object) => (object as unknown as { rules?: PolicyRule[] }).rules ?? []);
}

/** Everything that an operator does. */
class Work {
  readonly #api: OwnApiServer;
  readonly #folder: string;
  readonly #progress: (line: string) => void;

  constructor(api: OwnApiServer, folder: string, progress: (line: string) => void) {
    this.#api = api;
    this.#folder = folder;
    this.#progress = progress;
  }

  async all(): Promise<void> {
    const port = await freePort();
    const { kubeconfig } = await this.#api.accountOf(namespace, 'lyceum');
    const { cert } = await certificate(this.#folder, 'operator', callersHost);
    await mkdir(join(this.#folder, 'tls'));
    for (const end of ['crt', 'key'])
      await copyFile(join(this.#folder, `operator.${end}`), join(this.#folder, `tls/tls.${end}`));
    await copyFile(join(this.#folder, 'operator.crt'), join(this.#folder, 'tls/ca.crt'));
    await this.#inputs();
    const operator = new LyceumProcess([
      ...['operator', '--kubeconfig', kubeconfig, '--volume', join(this.#folder, 'volume'), '--lease', 'lyceum'],
      ...['--probes-port', '0', '--metrics-port', '0', '--callers-port', String(port), '--pod-address', '127.0.0.1'],
      ...['--tls-folder', join(this.#folder, 'tls'), '--callers-url', `https://${callersHost}:9443`],
      ...['--callers-ca-secret', 'lyceum-tls', '--volume-claim', 'lyceum', '--gateway-image', 'lyceum:test'],
    ]);
    await using _ = operator;
    await started(operator);
    const steps: Record<string, () => Promise<unknown>> = {
      'sources are read': () => this.#kubectl('wait', '--for=condition=Ready', '--timeout=60s', 'skillsource/handbook'),
      'a gateway without more': () => this.#apply('SkillGateway', 'agents', { replicas: 3 }),
      'has its pods': () => this.#stands('deployment', 'service'),
      'is given everything': () => this.#apply('SkillGateway', 'agents', everything),
      'and has it': () => this.#stands(...Object.keys(children)),
      'what is edited is put right': () => this.#edits(),
      'what is deleted comes back': () => this.#deletions(),
      'a server calls': () => this.#call(port, cert),
      'what is no longer wanted goes': () => this.#apply('SkillGateway', 'agents', { replicas: 1 }),
      'until it is gone': () => this.#gone(...optional),
      'the operator leaves': async () => {
        operator.kill('SIGTERM');
        await operator.ended();
      },
    };
    for (const [what, step] of Object.entries(steps)) {
      await step().catch((error: Error) => {
        throw new Error(`${what}: ${error.message}; ${operator.said.slice(-1500)}`);
      });
      this.#progress(what);
    }
  }

  #kubectl(...args: string[]): Promise<string> {
    return this.#api.kubectl(['-n', namespace, ...args]);
  }

  #apply(kind: string, name: string, spec: object): Promise<string> {
    const manifest = { apiVersion: 'lyceum.dev/v1alpha1', kind, metadata: { name }, spec };
    return this.#api.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(manifest));
  }

  /** A source with a Secret, one of a ConfigMap, tokens, and a Service by which servers know the operator. */
  async #inputs(): Promise<void> {
    const skill = '---\nname: one\ndescription: x\n---\n';
    await this.#kubectl('create', 'configmap', 'handbook', `--from-literal=skills__one__SKILL.md=${skill}`);
    await this.#kubectl('create', 'secret', 'generic', 'tokens', '--from-literal=n8n=n8n-0123456789abcdef');
    await this.#kubectl('create', 'secret', 'generic', 'token', '--from-literal=password=x');
    await this.#apply('SkillSource', 'handbook', { url: 'configmap://handbook' });
    await this.#apply('SkillSource', 'locked', { url: 'git+https://127.0.0.1/x', secretRef: { name: 'token' } });
  }

  async #object(
    kind: string,
  ): Promise<
    { metadata: { uid: string; deletionTimestamp?: string; resourceVersion: string }; spec: object } | undefined
  > {
    const { code, stdout } = await this.#api.tryKubectl(['-n', namespace, 'get', kind, 'agents', '-o', 'json']);
    return code === 0 ? JSON.parse(stdout) : undefined;
  }

  async #stands(...kinds: string[]): Promise<void> {
    for (const kind of kinds)
      await eventually(
        `a ${kind}`,
        () => this.#object(kind),
        (found) => found !== undefined,
        30,
      );
  }

  async #gone(...kinds: string[]): Promise<void> {
    for (const kind of kinds)
      await eventually(
        `no ${kind}`,
        () => this.#object(kind),
        (found) => found === undefined,
        30,
      );
  }

  async #edits(): Promise<void> {
    for (const [kind, patch] of Object.entries(children)) {
      const before = JSON.stringify((await this.#object(kind))!.spec);
      await this.#kubectl('patch', kind, 'agents', '--type=merge', '-p', JSON.stringify(patch));
      await eventually(
        `${kind} as it was`,
        () => this.#object(kind),
        (now) => JSON.stringify(now?.spec) === before,
        30,
      );
    }
  }

  async #deletions(): Promise<void> {
    for (const kind of Object.keys(children)) {
      const { uid } = (await this.#object(kind))!.metadata;
      await this.#kubectl('delete', kind, 'agents', '--wait=false');
      const isAnother = (now: { metadata: { uid: string } } | undefined) =>
        now !== undefined && now.metadata.uid !== uid;
      await eventually(`another ${kind}`, () => this.#object(kind), isAnother, 30);
    }
  }

  /** With the token of a pod of the gateway, as its servers do. */
  async #call(port: number, ca: Buffer): Promise<void> {
    const labels = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents';
    const pod = await eventually('a pod of the gateway', async () => {
      const { items } = JSON.parse(await this.#kubectl('get', 'pods', '-l', labels, '-o', 'json'));
      return items[0]?.metadata.name as string | undefined;
    });
    const bound = ['--audience', 'lyceum', '--bound-object-kind', 'Pod', '--bound-object-name', pod!];
    const token = (await this.#kubectl('create', 'token', 'default', ...bound)).trim();
    const headers = { authorization: `Bearer ${token}` };
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    request({ host: '127.0.0.1', port, path: '/reindex', method: 'POST', headers, ca, agent: false }, (response) => {
      text(response).then(
        (body) =>
          response.statusCode === 200 ? resolve(body) : reject(new Error(`status ${response.statusCode}: ${body}`)),
        reject,
      );
    })
      .on('error', reject)
      .end();
    await promise;
  }
}
