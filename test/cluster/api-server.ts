// The API server that tests talk to: the one that the whole suite shares, or one of its own for a file that is run alone.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Agent, type Dispatcher, request as send } from 'undici';
import { parse, stringify } from 'yaml';
import { eventually } from '../fixtures/eventually.ts';
import { type Coordinates, coordinatesVariable } from './coordinates.ts';
import { type Held, startHeld } from './held.ts';

const repository = join(import.meta.dirname, '../..');

export interface Answer {
  code: number;
  stdout: string;
  stderr: string;
}

/** A ServiceAccount with the Roles that Lyceum ships, as the operator has it in a real cluster. */
export interface OperatorAccount {
  /** A bearer token from the TokenRequest API, good for an hour. */
  token: string;
  /** Path of a kubeconfig with that token. */
  kubeconfig: string;
}

export interface ApiServer extends Coordinates {
  /** Runs kubectl as an administrator. @param input its standard input (`apply -f -`) @throws with what kubectl said */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** The same, where a refusal is what is expected. */
  tryKubectl(args: readonly string[], input?: string): Promise<Answer>;
  /** One request as an administrator, where what the server answers is wanted itself. @param path from `/apis` or `/api` on */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  /** Makes a namespace that no other test has. @returns its name */
  namespace(): Promise<string>;
  /** Makes the operator's ServiceAccount in a namespace, bound to the Roles of operator/kubernetes there. */
  operatorAccount(namespace: string): Promise<OperatorAccount>;
  /** A token and a kubeconfig for a ServiceAccount that is there. */
  accountOf(namespace: string, serviceAccount: string): Promise<OperatorAccount>;
}

/** Starts a control plane with Lyceum's CRDs in it. It ends when disposed, or when this process ends in whatever way. */
export const startControlPlane = (...args: string[]): Promise<Held<Coordinates>> =>
  startHeld('control-plane.ts', ...args);

let shared: Promise<ApiServer> | undefined;

/** The API server of this process; started at the first call where no test runner has started one. */
export function apiServer(): Promise<ApiServer> {
  shared ??= (async () => {
    const given = process.env[coordinatesVariable];
    return connect(given ? JSON.parse(given) : (await startControlPlane()).coordinates);
  })();
  return shared;
}

/** One that no other test shares, for what concerns the whole cluster. It ends when it is disposed. */
export interface OwnApiServer extends ApiServer, AsyncDisposable {
  /** Ends a program of the control plane with SIGKILL. */
  kill(program: ControlPlaneProgram): Promise<void>;
  /** Starts a program that was killed, on the state that it left; resolves when the API server is ready. */
  restart(program: ControlPlaneProgram): Promise<void>;
}

export type ControlPlaneProgram = 'etcd' | 'kube-apiserver';

/** @param args of control-plane.ts */
export async function ownApiServer(...args: string[]): Promise<OwnApiServer> {
  const held = await startControlPlane(...args);
  const api = connect(held.coordinates);
  return {
    ...api,
    kill: (program) => held.command(`kill ${program}`),
    restart: async (program) => {
      await held.command(`restart ${program}`);
      const ready = async (): Promise<boolean> => (await api.tryKubectl(['get', '--raw', '/readyz'])).code === 0;
      await eventually('the API server is ready', ready, Boolean, 60);
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

function connect(coordinates: Coordinates): ApiServer {
  const tryKubectl = async (args: readonly string[], input = ''): Promise<Answer> => {
    const child = spawn(join(coordinates.bin, 'kubectl'), ['--kubeconfig', coordinates.kubeconfig, ...args], {
      // Discovery is cached in the control plane's folder, not in the home of whoever runs the tests.
      env: { ...process.env, KUBECACHEDIR: join(coordinates.folder, 'kubectl') },
    });
    child.stdin.on('error', () => {}).end(input);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code, stdout, stderr };
  };
  const kubectl = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await tryKubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr || `exit ${code}`}`);
    return stdout;
  };
  const { token: adminToken } = parse(readFileSync(coordinates.kubeconfig, 'utf8')).users[0].user;
  const agent = new Agent({ connect: { ca: readFileSync(coordinates.ca) } });
  const request = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> => {
    const answer = await send(`${coordinates.url}${path}`, {
      method: method as Dispatcher.HttpMethod,
      dispatcher: agent,
      headers: {
        authorization: `Bearer ${adminToken}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  };
  const namespace = async (): Promise<string> => {
    const name = `test-${randomBytes(5).toString('hex')}`;
    await kubectl(['create', 'namespace', name]);
    return name;
  };
  const operatorAccount = async (inNamespace: string): Promise<OperatorAccount> => {
    const roles = await Promise.all(
      ['role.yaml', 'leader-role.yaml'].map(async (file) =>
        parse(await readFile(join(repository, 'operator/kubernetes', file), 'utf8')),
      ),
    );
    const { name } = roles[0].metadata;
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
    const bindings = roles.map(({ metadata }) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: metadata.name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: inNamespace }],
    }));
    const manifests = [account, ...roles, ...bindings].map((object) => stringify(object)).join('---\n');
    await kubectl(['apply', '-n', inNamespace, '-f', '-'], manifests);
    return await accountOf(inNamespace, name);
  };
  const accountOf = async (inNamespace: string, name: string): Promise<OperatorAccount> => {
    const token = (await kubectl(['create', 'token', name, '-n', inNamespace, '--duration=12h'])).trim();
    const path = join(coordinates.folder, `${inNamespace}.kubeconfig`);
    const config = parse(await readFile(coordinates.kubeconfig, 'utf8'));
    config.contexts = [{ name: 'test', context: { cluster: 'test', user: name, namespace: inNamespace } }];
    config.users = [{ name, user: { token } }];
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    return { token, kubeconfig: path };
  };
  return { ...coordinates, kubectl, tryKubectl, request, namespace, operatorAccount, accountOf };
}
