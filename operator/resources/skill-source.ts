// SkillSource: one place where material for agents is kept, as a custom resource.
import { z } from 'zod';
import { conditions, dateTime, longest, observedGeneration, text } from './fields.ts';

const glob = text(512).describe('A glob below the subdirectory: * within a folder, ** over folders, {a,b}, [ab], ?.');

const globs = () => z.array(glob).max(64);

export const limitsSchema = z.object({
  files: z
    .int()
    .min(1)
    .max(500_000)
    .default(50_000)
    .describe('The most files that may be wanted. With more, the source fails with LimitExceeded.'),
  fileSize: text(16)
    .default('4Mi')
    .describe(
      'The largest file, in bytes or as 512Ki, 4Mi, 1Gi. A larger one is left out by name, the rest is served.',
    ),
  totalSize: text(16)
    .default('256Mi')
    .describe('The most bytes of all wanted files. With more, the source fails with LimitExceeded.'),
});

export const webhookProviders = ['GitHub', 'GitLab', 'Gitea', 'Generic'] as const;
export type WebhookProvider = (typeof webhookProviders)[number];

export const skillSourceSpecSchema = z
  .object({
    url: text(longest.url).describe(
      'Where the material is. The scheme picks the kind of source: github://OWNER/REPOSITORY, ' +
        'git+https://HOST/PATH, git+http://HOST/PATH and git+ssh://USER@HOST/PATH for git, webdav+https://HOST/PATH and webdav+http://HOST/PATH for a ' +
        'WebDAV folder (Nextcloud: HOST/remote.php/dav/files/USER/FOLDER), s3://BUCKET/PREFIX for a bucket on AWS, ' +
        's3+https://HOST/BUCKET/PREFIX and s3+http://HOST/BUCKET/PREFIX for one elsewhere, ' +
        'oci://HOST/REPOSITORY:TAG and oci+http://HOST/REPOSITORY:TAG (@sha256:DIGEST for one state) for an OCI artifact, ' +
        'https://HOST/.well-known/agent-skills/index.json (http:// too) for what another publisher offers, configmap://NAME for a ConfigMap of this namespace, ' +
        "file:///PATH for a folder below the operator's file root. Credentials belong in a Secret, never in here.",
    ),
    ref: text(255)
      .optional()
      .describe(
        "Git only: a branch, a tag, a full ref (refs/heads/main) or a commit's 40 hex digits. A branch wins over a tag " +
          "of its name. Left out: the remote's default branch.",
      ),
    subdirectory: text(1024)
      .default('')
      .describe('Harvest only this folder; globs and addresses are relative to it. Empty: everything.'),
    library: text(longest.library)
      .optional()
      .describe(
        'The first segment of the addresses, skill://LIBRARY/…; several sources may share one. Left out: metadata.name.',
      ),
    tags: z
      .array(text(longest.tag).describe('One tag.'))
      .max(64)
      .default([])
      .describe('Words by which gateways, tokens and clients narrow what they see.'),
    include: z
      .object({
        skills: globs()
          .optional()
          .describe(
            'What is a skill: globs of SKILL.md files or of folders that hold them. Left out: the conventions ' +
              '(skills/**/SKILL.md and the like). An empty list: none.',
          ),
        prompts: globs()
          .optional()
          .describe(
            'What is a prompt: globs of Markdown files. Left out: the conventions (prompts/**/*.md, ' +
              '.github/prompts/*.prompt.md, commands/**/*.md, .claude/commands/**/*.md). An empty list: none.',
          ),
        rules: globs()
          .optional()
          .describe(
            'What is a rule: globs of Markdown and .mdc files, or of folders with a RULE.md. Left out: the conventions ' +
              '(rules/*/RULE.md, .cursor/rules/*.mdc, AGENTS.md and the like). An empty list: none.',
          ),
        profiles: globs()
          .optional()
          .describe(
            'What is an agent profile: globs of Markdown files, or of folders with a file of their own name. Left out: the ' +
              'conventions (profiles/NAME/NAME.md, agents/*.md and the like). An empty list: none.',
          ),
        files: globs()
          .optional()
          .describe('Files outside every artifact to serve as well, such as shared/**. Left out or empty: none.'),
      })
      .prefault({})
      .describe(
        'What to harvest, by kind. A kind that is left out follows the conventions and the plugins that a marketplace.json ' +
          'or plugin.json of the source describes, an empty list switches it off.',
      ),
    exclude: globs()
      .default([])
      .describe("What to leave out, of every kind and of artifacts' own files. **/node_modules/** always is."),
    refresh: text(16)
      .optional()
      .describe(
        'How often to look for changes: 30s, 5m, 1h30m; at least 5s. Left out: only when the spec changes or somebody ' +
          'sets the annotation lyceum.dev/requestedAt or sends a webhook.',
      ),
    cache: z
      .enum(['Snapshot', 'Live'])
      .optional()
      .describe(
        'WebDAV only. Snapshot, which is meant where it is left out: what is served is what the last look found. Live: the ' +
          'servers ask the WebDAV server whenever a file is read, so an edit is served on the next read.',
      ),
    region: text(64)
      .optional()
      .describe(
        "Buckets only: the bucket's region, eu-central-1 for example, which requests are signed for. Left out: us-east-1.",
      ),
    secretRef: z
      .object({ name: text(longest.name).min(1).describe('The name of the Secret.') })
      .optional()
      .describe(
        'A Secret of this namespace. Git: username and password, password alone, or bearerToken; over SSH, where it is required: identity and known_hosts. WebDAV, where it is ' +
          'required: username and password. A bucket: accessKeyId and secretAccessKey, with sessionToken where they are ' +
          'lent. An OCI artifact: .dockerconfigjson, or username and password. A discovery index: bearerToken. All: ca.crt for a server with a certificate of your own.',
      ),
    webhook: z
      .object({
        provider: z
          .enum(webhookProviders)
          .describe(
            'Who sends, which says how a webhook is checked. Gitea: Forgejo too. Generic: a signature in X-Signature or ' +
              'X-Hub-Signature (sha256=HEX), Standard Webhooks, or a bearer token.',
          ),
        secretRef: z
          .object({ name: text(longest.name).min(1).describe('The name of the Secret.') })
          .describe(
            "A Secret of this namespace whose key token holds what the provider was given as the webhook's secret: 16 to 1,024 characters.",
          ),
      })
      .optional()
      .describe(
        'Whose webhooks make the operator look now, at /hooks/NAMESPACE/NAME of its port for webhooks, where the ' +
          'installation has one. Nothing that a webhook says is believed: it only asks for a look.',
      ),
    timeout: text(16).default('60s').describe('How long one look may take in all: 30s, 5m; from 5s to 1h.'),
    limits: limitsSchema
      .prefault({})
      .describe('Bounds on what one look may bring in. The operator has ceilings of its own above them.'),
    suspend: z.boolean().default(false).describe('Do not look for now. What is published stays served.'),
  })
  .describe('What to harvest, and how often to look.');
export type SkillSourceSpec = z.infer<typeof skillSourceSpecSchema>;

const count = (what: string) => z.int().min(0).optional().describe(what);

const problemSchema = z
  .object({
    path: text(4096).describe("The file or folder, from the repository's root."),
    line: z.int().min(1).optional().describe('The line, from 1.'),
    severity: z.enum(['error', 'warning', 'info']).describe('How bad it is. error: something is not served.'),
    reason: text(64).describe('Why, as a constant that a script may match.'),
    message: text(4096).describe('What is wrong and what to do.'),
  })
  .describe('What the harvest has to say about one file.');

export const skillSourceStatusSchema = z
  .object({
    observedGeneration,
    conditions: conditions.describe(
      'Ready: the catalogue of the current spec is published and the last look succeeded. Reconciling: it is being looked ' +
        'at, or will be again. Stalled: a person must change something. Suspended: spec.suspend is true.',
    ),
    revision: text(512).optional().describe('What upstream calls the published state: main@sha1:… for git.'),
    artifact: z
      .object({
        digest: text(80).describe('SHA-256 over everything that is served. Moves only when the content does.'),
        lastUpdateTime: dateTime.describe('When the content last changed.'),
        size: z.int().min(0).describe('Bytes of all files.'),
        files: z.int().min(0).describe('Number of all files.'),
      })
      .optional()
      .describe('What is published.'),
    counts: z
      .object({
        skills: count('Skills that are served.'),
        prompts: count('Prompts that are served.'),
        rules: count('Rules that are served.'),
        profiles: count('Profiles that are served.'),
        files: count('Files outside every artifact that are served.'),
        discovered: count('What was there: served, duplicates and rejected.'),
        duplicates: count('Copies of what is served already.'),
        rejected: count('What could not be served. Each is a problem.'),
        problems: count('All problems.'),
      })
      .optional()
      .describe('How many of what was found.'),
    problems: z
      .array(problemSchema)
      .max(20)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('The first 20 problems, worst first.'),
    lastHandledReconcileAt: text(256)
      .optional()
      .describe('The value of the annotation lyceum.dev/requestedAt that was last answered.'),
  })
  .describe('How the source stands.');
export type SkillSourceStatus = z.infer<typeof skillSourceStatusSchema>;
