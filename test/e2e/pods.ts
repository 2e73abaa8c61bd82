// The node as stories use it: namespaces, volumes, clients in pods, a git server that pods reach.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';
import { coordinatesVariable, type NodeCoordinates } from '../cluster/coordinates.ts';
import { eventually } from '../fixtures/eventually.ts';
import type { Answered, Downloaded, Kinds, Load, Reindexed, Seen, VerifiedKinds, Wanted } from './client.ts';
import { clientFolder } from './client-folder.ts';
import { imageOf } from './image.ts';

const given = process.env[coordinatesVariable];
if (given === undefined) throw new Error('stories run on a node: make e2e');

export const node = JSON.parse(given) as NodeCoordinates;
export const cluster: ApiServer = await apiServer();

const nobody = 65534;

export const apply = (...objects: object[]): Promise<string> =>
  cluster.kubectl(['apply', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));

// biome-ignore lint/suspicious/noExplicitAny: whatever a kind has
export type Anything = any;

/** One object, or `{items}` where `what` names several. */
export const get = async (namespace: string, ...what: string[]): Promise<Anything> =>
  JSON.parse(await cluster.kubectl(['get', '-n', namespace, ...what, '-o', 'json']));

/** A namespace that admits restricted pods only. */
export const restrictedNamespace = (name: string): Promise<string> =>
  apply({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  });

/** The namespaces of a story with all that is in them, the volumes, and the kinds that the chart brought. */
export async function removeEverything(): Promise<void> {
  const namespaces = ['lyceum', 'agents'];
  // A namespace that finds pods waits for half their grace period before it looks again.
  const running = ['deployments,replicasets,pods', '--all', '--grace-period=1'];
  for (const namespace of namespaces) await cluster.kubectl(['delete', '-n', namespace, ...running]);
  await cluster.kubectl(['delete', 'namespace', ...namespaces]);
  await cluster.kubectl(['delete', 'persistentvolume', '--all']);
  await cluster.kubectl(['delete', 'crd', 'skillsources.lyceum.dev', 'skillgateways.lyceum.dev']);
}

/** A PersistentVolume for one claim: a folder of the machine, as an administrator without a storage class makes it. */
export async function volumeFor(
  claim: { namespace: string; name: string },
  {
    storage = '5Gi',
    accessMode = 'ReadWriteOnce',
    path,
  }: { storage?: string; accessMode?: string; path?: string } = {},
): Promise<string> {
  await mkdir(join(node.folder, 'volumes'), { recursive: true });
  const folder = path ?? (await mkdtemp(join(node.folder, 'volumes/')));
  if (path === undefined) await chown(folder, nobody, nobody);
  await apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${claim.namespace}-${claim.name}` },
    spec: {
      capacity: { storage },
      accessModes: [accessMode],
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: folder },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claim },
    },
  });
  return folder;
}

/** A Service in front of what listens on the node. @returns its name in the cluster; its port is 80 */
export async function nodeService(namespace: string, name: string, port: number): Promise<string> {
  const metadata = { namespace, name, labels: { 'kubernetes.io/service-name': name } };
  await apply(
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80, targetPort: port }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata,
      addressType: 'IPv4',
      ports: [{ port }],
      endpoints: [{ addresses: [node.address], conditions: { ready: true } }],
    },
  );
  return `${name}.${namespace}.svc.cluster.local`;
}

/** The pods of a gateway or of the operator, by label; those that end are left out. */
export async function pods(namespace: string, selector: string): Promise<Anything[]> {
  const { items } = await get(namespace, 'pods', '-l', selector);
  return items.filter((pod: Anything) => pod.metadata.deletionTimestamp === undefined);
}

/** A container of a pod, as the pod's status has it. */
export const container = (pod: Anything, name: string): Anything =>
  pod.status.containerStatuses.find((one: Anything) => one.name === name);

/** The first process of a container, as the machine numbers it: the one with the lowest number in its cgroup. */
export async function processOf({ containerID }: { containerID: string }): Promise<number> {
  const id = containerID.replace(/^.*:\/\//, '');
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  for (const number of numbers.sort((a, b) => a - b)) {
    const cgroup = await readFile(`/proc/${number}/cgroup`, 'utf8').catch(() => '');
    if (cgroup.includes(id)) return number;
  }
  throw new Error(`no process of container ${id}`);
}

const kindsToSee = [
  'deployments,services,persistentvolumeclaims,serviceaccounts,roles,rolebindings,configmaps,secrets',
  'skillsources,skillgateways',
].join();

/** Everything in a namespace that a release or its users make, as `kind/name`, but pods and what only accompanies others. */
export const whatStands = async (namespace: string): Promise<string[]> =>
  (await cluster.kubectl(['get', '-n', namespace, kindsToSee, '-o', 'name'])).trim().split('\n').sort();

/** Which pods there are and how often their containers were restarted. */
export const identities = (all: readonly Anything[]): string[] =>
  all
    .flatMap(({ metadata, status }) =>
      status.containerStatuses.map((one: Anything) => `${metadata.uid} ${one.name} ${one.restartCount}`),
    )
    .sort();

/** A steady load that goes on until it is asked for its sum. */
export interface RunningLoad {
  /** How many calls it last told of. */
  told(): number;
  sum(): Promise<Load>;
}

/** A pod in another namespace, in which the program of client.ts is run. */
export class ClientPod {
  readonly #namespace: string;
  readonly #image: string;

  private constructor(namespace: string, image: string) {
    this.#namespace = namespace;
    this.#image = image;
  }

  /** By the image of Lyceum, which has Node in it. */
  static async start(namespace: string): Promise<ClientPod> {
    const pod = new ClientPod(namespace, await imageOf());
    const claim = { namespace, name: 'client' };
    await volumeFor(claim, { storage: '1Gi', accessMode: 'ReadOnlyMany', path: clientFolder(node.folder) });
    await apply(pod.#claim(), pod.#pod());
    await cluster.kubectl(['wait', '-n', namespace, 'pod/client', '--for=condition=Ready', '--timeout=60s']);
    return pod;
  }

  #claim(): object {
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace: this.#namespace, name: 'client' },
      spec: { accessModes: ['ReadOnlyMany'], resources: { requests: { storage: '1Gi' } }, storageClassName: '' },
    };
  }

  #pod(): object {
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: this.#namespace, name: 'client' },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 0,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: nobody,
          runAsGroup: nobody,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'client',
            image: this.#image,
            imagePullPolicy: 'Never',
            command: ['node', '-e', 'setInterval(() => {}, 2 ** 30)'],
            securityContext: {
              allowPrivilegeEscalation: false,
              capabilities: { drop: ['ALL'] },
              readOnlyRootFilesystem: true,
            },
            volumeMounts: [{ name: 'client', mountPath: '/client', readOnly: true }],
          },
        ],
        volumes: [{ name: 'client', persistentVolumeClaim: { claimName: 'client', readOnly: true } }],
      },
    };
  }

  #command(args: readonly string[]): string[] {
    return ['exec', '-i', '-n', this.#namespace, 'client', '--', 'node', '/client/client.ts', ...args];
  }

  async #run<Printed>(...args: string[]): Promise<Printed> {
    return JSON.parse(await cluster.kubectl(this.#command(args)));
  }

  /** Tools alone, by the SDK that n8n is built on. A first connection may come before kube-proxy knows the pods, so it is tried again. */
  tools(url: string, uri: string, ...token: string[]): Promise<Seen> {
    return eventually(`tools of ${url}`, () => this.#run<Seen>('tools', url, uri, ...token));
  }

  /** SDK 2.x. */
  resources(url: string, uri: string, ...token: string[]): Promise<Seen> {
    return eventually(`resources of ${url}`, () => this.#run<Seen>('resources', url, uri, ...token));
  }

  /** SDK 2.x: every kind of material, verified. */
  kinds(url: string, wanted: Wanted, ...token: string[]): Promise<VerifiedKinds> {
    return this.#run<VerifiedKinds>('kinds', url, JSON.stringify(wanted), ...token);
  }

  /** The same kinds by tools alone. */
  n8n(url: string, wanted: Wanted, ...token: string[]): Promise<Kinds> {
    return this.#run<Kinds>('n8n', url, JSON.stringify(wanted), ...token);
  }

  /** What each of openkata's tools answered, called one after the other. */
  artifacts(url: string, calls: readonly [name: string, args: object][], ...token: string[]): Promise<Answered[]> {
    return this.#run<Answered[]>('artifacts', url, JSON.stringify(calls), ...token);
  }

  /** Resolves when each of these servers lists the skill with so many downloads. */
  async counted(urls: readonly string[], skill: string, times: number, ...token: string[]): Promise<void> {
    await this.#run('counted', JSON.stringify(urls), skill, String(times), ...token);
  }

  /** What is there over plain HTTP. */
  async download(urls: readonly string[], ...token: string[]): Promise<(Downloaded & { bytes: Buffer })[]> {
    const all = await this.#run<Downloaded[]>('download', JSON.stringify(urls), ...token);
    return all.map((one) => ({ ...one, bytes: Buffer.from(one.body, 'base64') }));
  }

  /** @returns when a read first had the text, in milliseconds since 1970 */
  async until(url: string, uri: string, wanted: string, ...token: string[]): Promise<number> {
    return (await this.#run<{ at: number }>('until', url, uri, wanted, ...token)).at;
  }

  reindex(url: string, ...token: string[]): Promise<Reindexed> {
    return this.#run<Reindexed>('reindex', url, ...token);
  }

  /** Reads all the time; resolves when it does. */
  load(url: string, uri: string, ...token: string[]): Promise<RunningLoad> {
    return this.#steady('load', url, uri, ...token);
  }

  /** Calls of every sort all the time; resolves when it does. */
  mixed(url: string, uri: string, ...token: string[]): Promise<RunningLoad> {
    return this.#steady('mixed', url, uri, ...token);
  }

  async #steady(...args: string[]): Promise<RunningLoad> {
    const child = spawn(join(node.bin, 'kubectl'), ['--kubeconfig', node.kubeconfig, ...this.#command(args)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    const stderr = text(child.stderr);
    const closed = once(child, 'close');
    await Promise.race([once(child.stdout, 'data'), closed]);
    return {
      told: () => Number(lines.at(-1)),
      sum: async () => {
        child.stdin.end();
        const [code] = await closed;
        if (code !== 0) throw new Error(`the load ended with ${code}: ${await stderr}`);
        return JSON.parse(lines.at(-1)!);
      },
    };
  }
}
