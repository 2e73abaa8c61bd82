// A gateway's catalogue on a real volume, published as the operator publishes it, and a real server over it.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import pino, { type Logger } from 'pino';
import { digestOf } from '../../../catalogue/digest.ts';
import type {
  AuthSetting,
  IndexSource,
  LibrarySetting,
  LiveSetting,
  Move,
  ReindexSetting,
  ScopeSetting,
  SourceState,
} from '../../../catalogue/index-file.ts';
import { indexPath } from '../../../catalogue/layout.ts';
import { byCodePoint } from '../../../catalogue/names.ts';
import type {
  ArtifactKind,
  ArtifactRow,
  Counts,
  FileRow,
  PromptArgument,
  PromptDialect,
} from '../../../catalogue/source-catalogue.ts';
import { openBlobs } from '../../../operator/publish/blob-store.ts';
import { publishIndex } from '../../../operator/publish/gateway-publication.ts';
import { publishSource } from '../../../operator/publish/source-publication.ts';
import { Volume } from '../../../operator/publish/volume.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../../server/server.ts';
import { CatalogueWatch } from '../../../server/snapshot/watch.ts';

/** Whose end takes things with it: a test, or a suite through `lifetime`. */
export interface Owner {
  after(task: () => unknown): void;
}

/** The lifetime of the suite that calls it: what its `before` hooks make is undone after its last test. */
export function lifetime(): Owner {
  const tasks: (() => unknown)[] = [];
  after(async () => {
    for (const task of tasks.reverse()) await task();
  });
  return { after: (task) => tasks.push(task) };
}

export type Files = Record<string, string | Uint8Array>;

/** What is said of a version: of the newest on the artifact itself. */
interface VersionFixture {
  version?: string;
  description?: string;
  tags?: string[];
  files?: Files;
}

export interface SkillFixture extends VersionFixture {
  /** Relative to the library. */
  address: string;
  group?: string;
  /** Besides SKILL.md, whose text is made here unless it is given. */
  files?: Files;
  /** Newest first. */
  older?: VersionFixture[];
}

export interface PromptFixture {
  /** Relative to the library: `<stem>`. */
  address: string;
  title?: string;
  description?: string;
  dialect?: PromptDialect;
  arguments?: PromptArgument[];
  /** What stands behind the frontmatter. */
  text: string;
  /** The whole file, where it is not made here. */
  whole?: string;
}

/** A rule or a profile. */
export interface TextFixture extends VersionFixture {
  /** Relative to the library and to the kind's place there. */
  address: string;
  /** Its main file's name, `<name>.md` when it is left out. */
  main?: string;
  /** Besides the main file, whose text is made here unless it is given. */
  files?: Files;
  /** Newest first. */
  older?: VersionFixture[];
}

export interface SourceFixture {
  name: string;
  library?: string;
  tags?: string[];
  state?: SourceState;
  reason?: string;
  refreshSeconds?: number;
  live?: LiveSetting;
  revision?: string;
  skills?: SkillFixture[];
  prompts?: PromptFixture[];
  rules?: TextFixture[];
  profiles?: TextFixture[];
  files?: Files;
  moves?: Move[];
}

export interface CatalogueFixture {
  sources: SourceFixture[];
  libraries?: (Pick<LibrarySetting, 'name'> & Partial<LibrarySetting>)[];
  scope?: ScopeSetting;
  /** Tokens by client, each the digest's original; ceilings by client. */
  auth?: { tokens: Record<string, string>; scopes?: AuthSetting['scopes'] };
  allowedOrigins?: string[];
  hosts?: string[];
  reindex?: ReindexSetting;
  instructions?: string;
}

export const skillText = ({ address, description = '' }: SkillFixture): string =>
  `---\nname: ${address.split('/').at(-1)}\ndescription: ${description}\n---\nInstructions of ${address}.\n`;

/** The text of a rule or profile. */
export const plainText = (kind: ArtifactKind, { address, description = '' }: TextFixture): string =>
  `---\ndescription: ${description}\n---\nThe ${kind} ${address}.\n`;

/** The tree that mcp-school's tests are written on. */
export const schoolTree: CatalogueFixture = {
  sources: [
    {
      name: 'flatsource',
      skills: [
        { address: 'alpha', description: 'First skill.' },
        { address: 'beta', description: 'Second skill.', files: { 'scripts/run.sh': '#!/bin/sh\necho beta\n' } },
      ],
      prompts: [
        {
          address: 'hello',
          description: 'Greet somebody.',
          arguments: [
            { name: 'who', description: 'Whom to greet.', required: true },
            { name: 'greeting', required: false, default: 'Hello' },
          ],
          text: '{{ greeting }}, {{who}}!\n',
        },
      ],
    },
    {
      name: 'deepsource',
      skills: [
        { address: 'gamma', description: 'Third skill.', group: 'plugin-a' },
        { address: 'delta', description: 'Fourth skill.', group: 'plugin-b' },
      ],
      prompts: [
        {
          address: 'check',
          description: 'Check a log.',
          arguments: [{ name: 'app', required: false }],
          text: 'Run {app="{{app}}"} |= `error` | json { line_format "{{.msg}}" }\n',
        },
      ],
      files: {
        'README.md': '# Deep\n',
        'shared/guide.md': '# Guide\n',
        'shared/nested/schema.json': '{"type":"object"}\n',
      },
    },
  ],
};

export const namespace = 'flow';
export const gatewayName = 'agents';

const authSetting = ({ tokens, scopes = [] }: NonNullable<CatalogueFixture['auth']>): AuthSetting => ({
  tokens: Object.entries(tokens).map(([client, token]) => ({ client, digest: digestOf(Buffer.from(token)) })),
  scopes,
});

export class GatewayFixture {
  readonly root: string;
  readonly volume: Volume;

  private constructor(root: string, volume: Volume) {
    this.root = root;
    this.volume = volume;
  }

  /** On a volume of its own, which is removed after the test. */
  static async create(test: Owner): Promise<GatewayFixture> {
    const root = await mkdtemp(join(tmpdir(), 'lyceum-server-'));
    test.after(() => rm(root, { recursive: true, force: true }));
    return new GatewayFixture(root, Volume.at(root));
  }

  /** @returns the generation */
  async publish(fixture: CatalogueFixture): Promise<number> {
    const sources: IndexSource[] = [];
    for (const source of fixture.sources) sources.push(await this.#publishSource(source));
    const { generation } = await publishIndex(
      this.volume,
      { namespace, name: gatewayName },
      {
        ...(fixture.instructions === undefined ? {} : { instructions: fixture.instructions }),
        scope: fixture.scope ?? {},
        ...(fixture.auth === undefined ? {} : { auth: authSetting(fixture.auth) }),
        ...(fixture.allowedOrigins === undefined ? {} : { allowedOrigins: fixture.allowedOrigins }),
        ...(fixture.hosts === undefined ? {} : { hosts: fixture.hosts }),
        ...(fixture.reindex === undefined ? {} : { reindex: fixture.reindex }),
        libraries: (fixture.libraries ?? []).map((library) => ({ tags: [], ...library })),
        sources,
      },
    );
    return generation;
  }

  /** Whatever text as index.json. */
  async writeIndex(text: string): Promise<void> {
    await this.volume.write(indexPath(namespace, gatewayName), Buffer.from(text));
  }

  async #publishSource(source: SourceFixture): Promise<IndexSource> {
    const { name, state = 'ok', library = name, tags = [], moves = [] } = source;
    const settings = {
      name,
      state,
      library,
      tags,
      moves,
      ...(source.reason === undefined ? {} : { reason: source.reason }),
      ...(source.refreshSeconds === undefined ? {} : { refreshSeconds: source.refreshSeconds }),
      ...(source.live === undefined ? {} : { live: source.live }),
    };
    if (state === 'pending' || state === 'failed') return settings;
    const key = { namespace, name };
    await using blobs = await openBlobs(this.volume, key, []);
    const digests: string[] = [];
    let size = 0;
    const rowsOf = async (files: Files): Promise<FileRow[]> => {
      const rows: FileRow[] = [];
      for (const [path, content] of Object.entries(files)) {
        const row = fileRow(path, Buffer.from(content as string));
        await blobs.add(Buffer.from(content as string));
        digests.push(row.digest);
        size += row.size;
        rows.push(row);
      }
      return rows.sort((a, b) => byCodePoint(a.path, b.path));
    };
    const artifacts: ArtifactRow[] = [];
    for (const { older = [], ...newest } of source.skills ?? []) {
      for (const skill of [newest, ...older.map((one) => ({ ...newest, ...one }))]) {
        const files = await rowsOf({ 'SKILL.md': skillText(skill), ...skill.files });
        artifacts.push(artifactRow('skill', skill, 'SKILL.md', files));
      }
    }
    for (const prompt of source.prompts ?? []) {
      const { dialect = 'placeholders', arguments: declared = [], title, text } = prompt;
      const main = dialect === 'copilot' ? `${prompt.address}.prompt.md` : `${prompt.address}.md`;
      const files = await rowsOf({ [main]: prompt.whole ?? `---\ndescription: It prompts.\n---\n${text}` });
      artifacts.push({
        ...artifactRow('prompt', prompt, main, files),
        ...(title === undefined ? {} : { title }),
        prompt: { dialect, arguments: declared },
      });
    }
    for (const [kind, fixtures = []] of [
      ['rule', source.rules],
      ['profile', source.profiles],
    ] as const) {
      for (const { older = [], ...newest } of fixtures) {
        const { main = `${newest.address}.md` } = newest;
        for (const fixture of [newest, ...older.map((one) => ({ ...newest, ...one }))]) {
          const files = await rowsOf({ [main]: plainText(kind, fixture), ...fixture.files });
          artifacts.push(artifactRow(kind, fixture, main, files));
        }
      }
    }
    const files = (await rowsOf(source.files ?? {})).map((row) => ({ row: 'file' as const, ...row }));
    const counts: Counts = {
      skills: source.skills?.length ?? 0,
      prompts: source.prompts?.length ?? 0,
      rules: source.rules?.length ?? 0,
      profiles: source.profiles?.length ?? 0,
      files: files.length,
      discovered: artifacts.length,
      duplicates: 0,
      rejected: 0,
      problems: 0,
    };
    const revision = source.revision ?? `main@sha1:${digestOf(Buffer.from(randomUUID())).slice(7, 47)}`;
    const segments = await blobs.seal(digests);
    const { catalogue } = await publishSource(this.volume, key, {
      harvest: { artifacts, files, problems: [], counts, fileCount: new Set(digests).size, size },
      revision,
      segments,
    });
    return { ...settings, revision, built: '2026-11-30T12:00:00Z', counts, catalogue };
  }
}

function artifactRow(
  kind: ArtifactKind,
  { address, description = '', group, version = '0.0.0', tags = [] }: Omit<SkillFixture, 'older'>,
  main: string,
  files: FileRow[],
): ArtifactRow {
  const name = address.split('/').at(-1)!;
  return {
    row: 'artifact',
    kind,
    address,
    name,
    version,
    ...(group === undefined ? {} : { group }),
    folder: [`${kind}s`, group, name].filter((part) => part !== undefined).join('/'),
    description,
    tags,
    frontmatter: { name, description },
    advertised: kind === 'skill',
    main,
    files,
  };
}

const mediaTypes = new Map([
  ['md', 'text/markdown'],
  ['json', 'application/json'],
  ['mdc', 'text/markdown'],
  ['sh', 'application/x-sh'],
  ['png', 'image/png'],
]);

export function fileRow(path: string, bytes: Buffer): FileRow {
  const text = Buffer.from(bytes.toString('utf8')).equals(bytes);
  const fallback = text ? 'text/markdown' : 'application/octet-stream';
  return {
    path,
    digest: digestOf(bytes),
    size: bytes.length,
    mediaType: mediaTypes.get(path.split('.').at(-1)!) ?? fallback,
    text,
  };
}

export const silent: Logger = pino({ level: 'silent' });

/** What watches the fixture's index.json, for a test that has no whole server. It is neither started nor closed here. */
export const watchOf = ({ root }: Pick<GatewayFixture, 'root'>): CatalogueWatch => {
  const ignore = (): void => {};
  return new CatalogueWatch({
    ...{ volume: root, namespace, gateway: gatewayName, logger: silent },
    ...{ loaded: ignore, failed: ignore, looked: ignore },
  });
};

/** A server over the fixture's volume on a free port; closed after the test. */
export async function serve(
  test: Owner,
  fixture: Pick<GatewayFixture, 'root'>,
  options: Partial<ServerOptions> = {},
): Promise<RunningServer> {
  const server = await startServer({
    volume: fixture.root,
    namespace,
    gateway: gatewayName,
    host: '127.0.0.1',
    port: 0,
    logger: silent,
    version: '0.0.0-test',
    ...options,
  });
  test.after(() => server.close());
  return server;
}

/** A server over one published catalogue. */
export async function serveCatalogue(
  test: Owner,
  catalogue: CatalogueFixture,
  options: Partial<ServerOptions> = {},
): Promise<RunningServer> {
  const fixture = await GatewayFixture.create(test);
  await fixture.publish(catalogue);
  return await serve(test, fixture, options);
}

/** Waits until something holds, up to five seconds. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within five seconds: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
