// Helm 4 and Helm 3, and what the chart is rendered to by them.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { chart } from './values.ts';

const run = promisify(execFile);

export interface Helm {
  /** `Helm 4` */
  name: string;
  program: string;
}

/** Both lines of Helm; they are built where they are missing. */
export async function helms(): Promise<Helm[]> {
  const { stdout } = await run(join(import.meta.dirname, '../cluster/build.sh'), ['helm']);
  const { helm4, helm3 } = JSON.parse(stdout) as { helm4: string; helm3: string };
  return [
    { name: 'Helm 4', program: helm4 },
    { name: 'Helm 3', program: helm3 },
  ];
}

export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: whatever a kind has
  [field: string]: any;
}

export interface RenderOptions {
  release?: string;
  namespace?: string;
  values?: Values;
  /** Files of values. */
  files?: readonly string[];
}

export interface Values {
  [name: string]: unknown;
}

/** `helm template` as text. @throws with what Helm said */
export async function rendered({ program }: Helm, options: RenderOptions = {}): Promise<string> {
  const { release = 'lyceum', namespace = 'skills', values = {}, files = [] } = options;
  // Programs that are built from modules do not know which Kubernetes they are of.
  const args = ['template', release, chart, '--namespace', namespace, '--kube-version', '1.37.2'];
  const given = ['--values', '-', ...files.flatMap((file) => ['--values', file])];
  const command = run(program, [...args, ...given], { maxBuffer: 2 ** 24 });
  command.child.stdin!.end(JSON.stringify(values));
  return (await command).stdout;
}

/** `helm template` as objects. @throws with what Helm said */
export async function objects(helm: Helm, options: RenderOptions = {}): Promise<Rendered[]> {
  return parseAllDocuments(await rendered(helm, options)).flatMap((document) => document.toJS() ?? []);
}

/** What Helm says of values that it refuses. @throws when it takes them */
export async function refusal(helm: Helm, values: Values): Promise<string> {
  const answer = await rendered(helm, { values }).then(
    () => undefined,
    (error: { stderr: string }) => error.stderr,
  );
  if (answer === undefined) throw new Error(`${helm.name} takes ${JSON.stringify(values)}`);
  return answer;
}

/** The one object of a kind. @throws when there is none or there are several */
export function only(all: readonly Rendered[], kind: string): Rendered {
  const [found, ...more] = all.filter((object) => object.kind === kind);
  if (found === undefined || more.length > 0) throw new Error(`${more.length + (found ? 1 : 0)} objects of ${kind}`);
  return found;
}
