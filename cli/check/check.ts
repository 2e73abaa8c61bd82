// Wires `lyceum check`: from what it is pointed at to sources, from sources to a report.
import { basename } from 'node:path';
import { slug } from '../../catalogue/names.ts';
import type { Cluster } from '../../operator/kubernetes/cluster.ts';
import { SourceFault } from '../../operator/reasons.ts';
import { parseSkillSource } from '../../operator/resources/parse.ts';
import { Backends } from '../../operator/source/backends.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { ManifestCluster } from '../run/manifest-cluster.ts';
import { sourceOptions } from '../source-options.ts';
import type { CheckFlags } from './flags.ts';
import { harvestOnce, type Subject } from './harvest-once.ts';
import { exitStatus, jsonReport, textReport, type Verdict } from './report.ts';
import { type Target, targetOf } from './target.ts';

interface Question {
  subjects: Subject[];
  refused: string[];
  cluster: Pick<Cluster, 'readSecret' | 'readConfigMap'>;
  /** The folder that is `/` for file:/// sources. */
  fileRoot: string | undefined;
}

/** @returns the exit status @throws Error when the target is none, or the options make no valid source */
export async function check(argument: string, flags: CheckFlags): Promise<number> {
  const target = await targetOf(argument);
  if (flags.ref !== undefined && target.kind !== 'repository') throw new Error('--ref is for a git URL only');
  if (flags.region !== undefined && target.kind !== 'repository') throw new Error('--region is for a bucket only');
  const { subjects, refused, cluster, fileRoot } =
    target.kind === 'manifests' ? await fromManifests(target) : fromArgument(target, flags);
  const { guard, ceiling } = await sourceOptions({ ...flags, allowLoopback: true }, undefined);
  const backends = new Backends({ guard, fileRoot, closedFolders: [] });
  try {
    const verdicts: Verdict[] = [];
    for (const subject of subjects) {
      const shown = { source: subject.name, url: target.kind === 'folder' ? argument : subject.spec.url };
      try {
        verdicts.push({ ...shown, harvested: await harvestOnce(subject, backends, cluster, ceiling) });
      } catch (error) {
        if (!(error instanceof UpstreamFault || error instanceof SourceFault)) throw error;
        verdicts.push({ ...shown, fault: { reason: error.reason, message: error.message } });
      }
    }
    const report = { refused, verdicts };
    console.log(flags.json ? jsonReport(report) : textReport(report).join('\n'));
    return exitStatus(report);
  } finally {
    await backends.close();
  }
}

/** Every valid SkillSource of the manifests, with the Secrets and ConfigMaps that stand there too. */
async function fromManifests({ folder, only }: Extract<Target, { kind: 'manifests' }>): Promise<Question> {
  const refused: string[] = [];
  const cluster = new ManifestCluster({
    folder,
    only,
    environment: process.env,
    complain: (message) => refused.push(message),
    event: () => {},
  });
  await cluster.load();
  const subjects = cluster.sources.list().flatMap((object): Subject[] => {
    const { namespace, name } = object.metadata;
    const parsed = parseSkillSource(object);
    return parsed.ok ? [{ namespace, name, spec: parsed.spec }] : [];
  });
  return { subjects, refused, cluster, fileRoot: folder };
}

/** The lists that were given; a kind without one follows the conventions. */
const includeOf = ({ skills, prompts, rules, profiles, files }: CheckFlags): object => ({
  skills,
  prompts,
  rules,
  profiles,
  files,
});

/** What a library is called by: the repository, also of an artifact, or the host of a discovery index. */
function placeOf(url: string): string {
  if (/^https?:/.test(url)) return URL.parse(url)?.hostname ?? url;
  if (/^oci/.test(url)) return url.replace(/@[^@]*$/, '').replace(/:[^/:]*$/, '');
  return url.replace(/(\.git)?\/*$/, '');
}

/** One source as the options describe it. */
function fromArgument(target: Exclude<Target, { kind: 'manifests' }>, flags: CheckFlags): Question {
  const url = target.kind === 'repository' ? target.url : 'file:///';
  const place = target.kind === 'repository' ? placeOf(target.url) : target.folder;
  const library = flags.library ?? (slug(basename(place), 63) || 'pack');
  const spec = {
    url,
    ref: flags.ref,
    region: flags.region,
    subdirectory: flags.subdirectory,
    library,
    include: includeOf(flags),
    exclude: flags.exclude,
    timeout: flags.timeout,
  };
  const parsed = parseSkillSource({ metadata: { name: library }, spec });
  if (!parsed.ok) throw new Error(parsed.message);
  return {
    subjects: [{ namespace: 'default', name: library, spec: parsed.spec }],
    refused: [],
    cluster: { readSecret: async () => undefined, readConfigMap: async () => undefined },
    fileRoot: target.kind === 'folder' ? target.folder : undefined,
  };
}
