// Documents that servers and authors write: XML, JSON, YAML, globs.
import { isUtf8 } from 'node:buffer';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { indexDigest } from '../../../catalogue/index-file.ts';
import { indexPath } from '../../../catalogue/layout.ts';
import { SegmentReader } from '../../../catalogue/segment-reader.ts';
import { CatalogueUnreadable } from '../../../catalogue/unreadable.ts';
import { admit } from '../../../cli/run/admission.ts';
import { documentsIn } from '../../../cli/run/documents.ts';
import { compileGlobs } from '../../../operator/harvest/globs.ts';
import { manifestPaths, readManifest as readPluginManifest } from '../../../operator/harvest/manifest.ts';
import { parsers } from '../../../operator/harvest/parsers.ts';
import { SourceFault } from '../../../operator/reasons.ts';
import { loadCatalogue } from '../../../server/snapshot/load.ts';
import { readIndex as readDiscoveryIndex } from '../../../upstream/discovery/read-index.ts';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { readManifest } from '../../../upstream/oci/manifest.ts';
import { newPace } from '../../../upstream/pace.ts';
import { NoListing, readListing } from '../../../upstream/s3/listing.ts';
import { NoMultistatus, propfindBody, readMultistatus } from '../../../upstream/webdav/multistatus.ts';
import { startBucketServer } from '../../fixtures/bucket-server.ts';
import { skillText } from '../../fixtures/operator.ts';
import { startRegistry } from '../../fixtures/registry-server.ts';
import { startWebDavServer, user } from '../../fixtures/webdav-server.ts';
import { GatewayFixture, gatewayName, namespace, schoolTree, serveCatalogue } from '../../server/support/gateway.ts';
import { inPieces, orFault, type Prepared, type Target } from './target.ts';

const bytesOf = async (answer: Response): Promise<Buffer> => {
  if (!answer.ok) throw new Error(`status ${answer.status} in the place of a seed`);
  return Buffer.from(await answer.arrayBuffer());
};

const markup = [
  '<!DOCTYPE x [<!ENTITY a "b">]>',
  '&a;',
  '&#0;',
  '&#x10ffff;',
  '&lt;',
  '<![CDATA[',
  ']]>',
  '<!--',
  '<?xml version="1.0"?>',
  '</',
  '/>',
  'xmlns="DAV:"',
  'xmlns:d=',
];

export const multistatus: Target = {
  name: 'multistatus',
  dictionary: [
    ...markup,
    '<D:response>',
    '<D:href>',
    '<D:propstat>',
    '<D:prop>',
    '<D:collection/>',
    'HTTP/1.1 200 OK',
    '<D:getetag>',
  ],
  async prepare(): Promise<Prepared> {
    const seeds: Buffer[] = [];
    for (const kind of ['Apache with Basic', 'nginx'] as const) {
      const server = await startWebDavServer(kind);
      try {
        await server.write({ 'a/SKILL.md': 'one', 'a/b ü&.md': 'two', 'c.md': 'three' });
        const basic = Buffer.from(`${user.username}:${user.password}`).toString('base64');
        const headers = { depth: '1', authorization: `Basic ${basic}` };
        for (const path of ['/dav/', '/dav/a/']) {
          const answer = await fetch(server.origin + path, { method: 'PROPFIND', headers, body: propfindBody });
          seeds.push(await bytesOf(answer));
        }
      } finally {
        await server.close();
      }
    }
    return {
      seeds,
      feed: (input) => orFault([NoMultistatus], () => readMultistatus([input], newPace(), () => {})),
    };
  },
};

export const listings: Target = {
  name: 'listings',
  dictionary: [
    ...markup,
    '<Contents>',
    '<Key>',
    '<IsTruncated>true</IsTruncated>',
    '<NextContinuationToken>',
    '<EncodingType>url</EncodingType>',
    '%',
    '%00',
    '%ff',
    '<ETag>',
    '<Size>',
  ],
  async prepare(): Promise<Prepared> {
    const server = await startBucketServer('versitygw');
    try {
      await server.put({ 'skills/one/SKILL.md': skillText('one'), 'skills/two/ü &<.md': 'x', 'a.md': '' });
      await server.makePublic();
      const list = async (query: string): Promise<Buffer> =>
        bytesOf(await fetch(`${server.origin}/${server.bucket}?list-type=2${query}`));
      const seeds = await Promise.all([
        list(''),
        list('&encoding-type=url'),
        list('&max-keys=1'),
        list('&delimiter=/'),
      ]);
      return {
        seeds,
        feed: (input) => orFault([NoListing], () => readListing(input.toString(), newPace())),
      };
    } finally {
      await server.close();
    }
  },
};

export const manifests: Target = {
  name: 'manifests',
  dictionary: [
    'null',
    '[]',
    '{}',
    '"schemaVersion":2',
    '"manifests":',
    '"layers":',
    '"digest":"sha256:',
    '"size":-1',
    '"__proto__":',
    '"annotations":null',
    '"platform":null',
    '"plugins":',
    '"source":"../.."',
    '"skills":["./"]',
  ],
  async prepare(): Promise<Prepared> {
    const registry = await startRegistry();
    try {
      await registry.push('skills', 'v1', [
        { bytes: 'one', annotations: { 'org.opencontainers.image.title': 'one.md' } },
        { bytes: 'two' },
      ]);
      const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' };
      const manifest = await bytesOf(await fetch(`${registry.origin}/v2/skills/manifests/v1`, { headers }));
      const index = {
        schemaVersion: 2,
        manifests: [
          {
            mediaType: headers.accept,
            digest: `sha256:${'0'.repeat(64)}`,
            size: 2,
            platform: { os: 'linux', architecture: 'amd64' },
          },
        ],
      };
      const plugins = {
        name: 'x',
        metadata: { pluginRoot: './plugins' },
        plugins: [
          { name: 'tools', source: './plugins/tools', skills: ['./skills'] },
          { name: 'far', source: { source: 'github', repo: 'a/b' } },
        ],
      };
      return {
        seeds: [manifest, ...[index, plugins].map((one) => Buffer.from(JSON.stringify(one)))],
        async feed(input) {
          await orFault([UpstreamFault], () => readManifest(input, 'registry.example.org/skills:v1'));
          for (const path of manifestPaths.slice(0, 4))
            readPluginManifest(path, input, { repository: undefined, subdirectory: '' });
        },
      };
    } finally {
      await registry.close();
    }
  },
};

export const frontmatter: Target = {
  name: 'frontmatter',
  dictionary: [
    '---\n',
    '\n---\n',
    '...\n',
    '- ',
    ': ',
    '&a ',
    '*a',
    '<<: ',
    '!!binary ',
    '!!python/object ',
    '|\n',
    '>-\n',
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    '? ',
    '\t',
    '\r\n',
    '\ufeff',
    '{{ x }}',
    '{{',
    '}}',
    '$ARGUMENTS',
    '$1',
    '$' + '{input:x:y}',
    'arguments:\n  - name: x\n',
    '1e999',
    '.inf',
    '0x7f',
    '2026-01-01',
    '__proto__: ',
    'name: ',
    'description: ',
    'tags: ',
  ],
  async prepare(): Promise<Prepared> {
    const bomb = `a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: [*c, *c, *c, *c]`;
    const seeds = [
      skillText('one', 'Do {{ x }} and $1.'),
      `---\nname: two\ndescription: >-\n  Folded\n  text.\ntags: [a, "b", 'c']\nmetadata: {version: 1.10, tags: "x, y"}\n---\n# Two\n`,
      `---\ndescription: A prompt.\narguments:\n  - name: who\n    description: Whom.\n    required: true\n  - name: how\n    default: well\n---\nGreet {{ who }} {{how}}.\n`,
      `---\ndescription: Ship it\nargument-hint: "[version] [what]"\n---\nShip $ARGUMENTS, $1 and $2.\n`,
      `---\nmode: agent\n---\nAsk \${input:topic:About what?}.\n`,
      `---\nglobs: *.ts,src/**\nalwaysApply: false\n---\nUse tabs.\n`,
      `---\n${bomb}\n---\nx\n`,
      `---\nname: three: what\ndescription: it's - [broken\n---\nx\n`,
    ].map((text) => Buffer.from(text));
    return {
      seeds,
      async feed(input) {
        for (const parse of Object.values(parsers)) parse(input, isUtf8(input));
      },
    };
  },
};

export const resources: Target = {
  name: 'resources',
  dictionary: [
    'apiVersion: lyceum.dev/v1alpha1\n',
    'kind: SkillSource\n',
    'kind: SkillGateway\n',
    'spec:\n',
    'url: ',
    'null',
    '[]',
    '{}',
    '1e9h',
    '99999999999h',
    '5m',
    '4Mi',
    '9e9Gi',
    '..',
    '**',
    '://',
    '@',
    '%2e%2e',
    '&a',
    '*a',
  ],
  async prepare(): Promise<Prepared> {
    const seeds = [
      `apiVersion: lyceum.dev/v1alpha1\nkind: SkillSource\nmetadata: {name: pack}\nspec:\n  url: git+https://git.example.com/team/pack.git\n  ref: main\n  tags: [a, b]\n  include: {skills: ["skills/*/SKILL.md"], files: []}\n  exclude: ["**/drafts/**"]\n  refresh: 5m\n  secretRef: {name: s}\n  webhook: {provider: GitHub, secretRef: {name: s}}\n  limits: {files: 10, fileSize: 2Mi, totalSize: 1Gi}\n`,
      `apiVersion: lyceum.dev/v1alpha1\nkind: SkillGateway\nmetadata: {name: agents, labels: {a: b}}\nspec:\n  sources: {selector: {matchLabels: {team: a}}}\n  libraries: [{name: a, title: A, tags: [x]}]\n  scope: {library: a, tags: [x]}\n  auth: {tokens: {secretRef: {name: t}}, scopes: [{token: n, library: a}]}\n  allowedOrigins: ["https://claude.ai"]\n  replicas: 2\n`,
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {skills__a__SKILL.md: x}\n`,
    ].map((text) => Buffer.from(text));
    return {
      seeds,
      async feed(input) {
        const found = documentsIn('lyceum.yaml', input.toString());
        if (Array.isArray(found)) for (const document of found) admit(document);
      },
    };
  },
};

export const globs: Target = {
  name: 'globs',
  dictionary: [
    '**',
    '**/',
    '*',
    '?',
    '[a-z]',
    '[!a]',
    '[[:alpha:]]',
    '{a,b}',
    '{1..9}',
    '{{a,b},{c,d}}',
    '\\',
    '!(',
    '+(',
    '@(',
    '/',
    '.',
    '..',
    '\n',
    'ü',
    '\u0301',
  ],
  async prepare(): Promise<Prepared> {
    const deep = Array.from({ length: 30 }, (_, at) => `folder${at}`).join('/');
    const pairs = [
      ['skills/**/SKILL.md', 'skills/a/b/SKILL.md'],
      ['**/*.md', `${deep}/x.md`],
      ['{skills,prompts}/*/[a-z]?.md', 'prompts/x/ab.md'],
      ['a*b*c*d*e*f*', 'a'.repeat(200)],
      ['**/**/**/a/**/**/b', `${'a/'.repeat(30)}c`],
      ['.github/**/*.instructions.md', '.github/instructions/x.instructions.md'],
      ['{1..300}/*', '17/x'],
    ];
    return {
      seeds: pairs.map((pair) => Buffer.from(pair.join('\n'))),
      async feed(input) {
        const [pattern = '', path = ''] = input.toString().split('\n', 2);
        await orFault([SourceFault], () => {
          for (const glob of compileGlobs([pattern], 'spec.exclude')) {
            glob.matches(path.slice(0, 1024));
            glob.mayMatchIn(path.slice(0, 1024));
            glob.names(path);
          }
        });
      },
    };
  },
};

export const indexes: Target = {
  name: 'indexes',
  dictionary: [
    'null',
    '[]',
    '{}',
    '"format":1',
    '"format":3',
    '"generation":',
    '"sources":',
    '"catalogue":',
    '"path":"../../etc/passwd"',
    '"digest":"sha256:',
    '"moves":',
    '"__proto__":{}',
    '"tags":',
    '"refreshSeconds":1e308',
    '"state":"ok"',
  ],
  async prepare(): Promise<Prepared> {
    const ends: (() => unknown)[] = [];
    const owner = { after: (task: () => unknown) => void ends.push(task) };
    const fixture = await GatewayFixture.create(owner);
    await fixture.publish(schoolTree);
    const file = join(fixture.root, indexPath(namespace, gatewayName));
    const real = await readFile(file);
    const server = await serveCatalogue(owner, schoolTree);
    const discovery = await bytesOf(await fetch(`${server.url}/.well-known/agent-skills/index.json`));
    return {
      seeds: [real, discovery],
      async feed(input) {
        await orFault([UpstreamFault], () => readDiscoveryIndex(inPieces(input), 'skills.example.org', newPace()));
        for (const text of [input, sealed(input)]) {
          if (text === undefined) continue;
          await writeFile(file, text);
          const reader = new SegmentReader(fixture.root);
          try {
            await orFault([CatalogueUnreadable], () =>
              loadCatalogue(fixture.root, { namespace, name: gatewayName }, reader),
            );
          } finally {
            reader.close();
          }
        }
      },
      async close() {
        for (const end of ends.reverse()) await end();
      },
    };
  },
};

/** With the digest that it would have, so that it is not refused for that alone; undefined where it is no object. */
function sealed(input: Buffer): Buffer | undefined {
  try {
    const content: unknown = JSON.parse(input.toString());
    if (typeof content !== 'object' || content === null || Array.isArray(content)) return undefined;
    return Buffer.from(JSON.stringify({ ...content, digest: indexDigest(content) }));
  } catch {
    return undefined;
  }
}
