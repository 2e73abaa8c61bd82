// A catalogue as a team has one: libraries with groups, versions, every kind of artifact, and files that are not in order.

import type { ServerOptions } from '../../../server/server.ts';
import { eventually } from '../../fixtures/eventually.ts';
import type { Owner } from '../../server/support/gateway.ts';
import { type Harvested, type HarvestedSource, serveHarvested } from '../../server/support/harvested.ts';

interface SkillText {
  name: string;
  description: string;
  tags?: string;
  version?: string;
  body: string;
}

const skill = ({ name, description, tags, version, body }: SkillText): string => {
  const metadata = [tags && `  tags: ${tags}`, version && `  version: ${version}`].filter(Boolean);
  const more = metadata.length === 0 ? '' : `metadata:\n${metadata.join('\n')}\n`;
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}`;
};

const runbook = (version: string): string =>
  skill({
    name: 'write-a-runbook',
    description:
      'Write a runbook for one alert, so that whoever is on call can act on it at night. Use when an alert has no runbook or its runbook did not help.',
    tags: 'on-call, writing, lang:markdown',
    version,
    body: `# Write a runbook

A runbook is read at three in the morning by somebody who did not write it. Everything in it serves that reader.

## Before you write

1. Find the alert and read its expression. Say in **one sentence** what it means for users.
2. Look at the last three times that it fired: what did people do?
3. Copy the [template](references/template.md) to \`runbooks/<alert>.md\`.

## What stands in it

| Section | Says | At most |
|---|---|---|
| Impact | who notices, and how | 2 sentences |
| First look | one dashboard, one command | 5 lines |
| Steps | what to do, safest first | 7 steps |
| Hand over | when to wake somebody else | 3 lines |

\`\`\`bash
# Is it one node, or all of them?
kubectl get nodes -o wide | grep -v ' Ready '
kubectl -n monitoring logs deploy/alertmanager --since=30m | grep NodeDiskFull
\`\`\`

> A step that cannot be undone says so in its first word.

## When it is done

Run [scripts/check.sh](scripts/check.sh) on the file. See also the [style of runbooks](https://example.org/runbooks).
`,
  });

const plain = (name: string, description: string, tags?: string): string =>
  skill({
    name,
    description,
    ...(tags === undefined ? {} : { tags }),
    body: `# ${name.replaceAll('-', ' ')}\n\n1. Read what is there.\n2. Say what is missing.\n3. Propose the smallest change that helps.\n`,
  });

const handbook: HarvestedSource['files'] = {
  ...Object.fromEntries(
    ['1.0.0', '1.1.0', '2.0.0-rc.1', '2.0.0'].flatMap((version) => [
      [`skills/write-a-runbook/${version}/SKILL.md`, runbook(version)],
      [
        `skills/write-a-runbook/${version}/references/template.md`,
        '# ALERT\n\n## Impact\n\n## First look\n\n## Steps\n',
      ],
      [`skills/write-a-runbook/${version}/scripts/check.sh`, '#!/bin/sh\ngrep -c "^## " "$1"\n'],
    ]),
  ),
  'skills/take-over-an-incident/1.0.0/SKILL.md': plain(
    'take-over-an-incident',
    'Take over an incident that is under way from somebody who is tired. Use at a change of shift, or when you join late.',
    'on-call',
  ),
  'skills/write-a-postmortem/1.2.0/SKILL.md': plain(
    'write-a-postmortem',
    'Write what happened, why, and what changes, without blame. Use when an incident is closed and its timeline is known.',
    'on-call, writing',
  ),
  'rules/write-for-the-night/1.0.0/RULE.md':
    '---\ndescription: Operational text is written for a tired reader.\n---\n# Write for the night\n\n- Short sentences.\n- Commands can be copied as they stand.\n',
  'profiles/incident-scribe/1.0.0/incident-scribe.md':
    '---\ndescription: Keeps the timeline of an incident, and asks nobody for anything twice.\n---\n# Incident scribe\n\nYou keep the timeline. You never guess a time.\n',
  'prompts/hand-over.md':
    '---\ntitle: Hand over a shift\ndescription: Say what the next person on call must know.\narguments:\n  - name: notes\n    description: What happened, in any form.\n    required: true\n  - name: tone\n    description: How it reads.\n    default: calm\n---\nWrite a hand-over in a {{ tone }} tone from these notes:\n\n{{ notes }}\n',
};

const observability: HarvestedSource['files'] = {
  'skills/logs/query-loki/SKILL.md': plain(
    'query-loki',
    'Find the log lines that explain an error with LogQL, cheapest query first. Use when somebody asks what the logs say.',
    'logs, lang:logql',
  ),
  'skills/logs/parse-json-logs/SKILL.md': plain(
    'parse-json-logs',
    'Turn lines of JSON into fields that can be counted.',
    'logs',
  ),
  'skills/metrics/write-an-alert/SKILL.md': plain(
    'write-an-alert',
    'Write a Prometheus alert that fires when users are hurt, and not before. Use when a symptom is known and unwatched.',
    'metrics, on-call, lang:promql',
  ),
  'skills/metrics/read-a-histogram/SKILL.md': plain(
    'read-a-histogram',
    'Read latency from histograms without fooling yourself.',
    'metrics',
  ),
  'skills/traces/find-the-slow-span/SKILL.md': plain(
    'find-the-slow-span',
    'Find the span that makes a trace slow.',
    'traces',
  ),
  'rules/name-metrics/RULE.md':
    '---\ndescription: How metrics are named here.\n---\n# Names of metrics\n\nUnits at the end, in base units.\n',
};

const frontend: HarvestedSource['files'] = {
  'skills/review-a-change/SKILL.md': plain(
    'review-a-change',
    'Review a change as a colleague would want it. Use when a pull request is open.',
    'review',
  ),
  'skills/accessible-forms/SKILL.md': plain(
    'accessible-forms',
    'Build forms that keyboards and screen readers can use. Use before writing any input, label or message of an error.',
    'a11y, lang:html',
  ),
  'skills/Zero Downtime/SKILL.md':
    '---\ndescription: Ship a change without a gap that anybody notices.\n---\n# Zero downtime\n',
  'skills/unclosed/SKILL.md': '---\nname: unclosed\ndescription: The frontmatter never ends.\n',
  'skills/empty/SKILL.md': '',
  'skills/review-a-change/.cache/index.json': '{}',
};

export interface Library {
  harvested: Harvested;
  origin: string;
}

/** Served until the owner ends. @param options of the server */
export async function serveLibrary(owner: Owner, options: Partial<ServerOptions> = {}): Promise<Library> {
  const harvested = await serveHarvested(
    owner,
    {
      handbook: { files: handbook, spec: { tags: ['operations'] } },
      observability: { files: observability, spec: { tags: ['operations'] } },
      frontend: { files: frontend, spec: { tags: ['web'] } },
    },
    {
      libraries: [
        { name: 'frontend', title: 'Web', description: 'What the web teams have agreed on.' },
        { name: 'handbook', title: 'Handbook', description: 'How the platform team runs things.' },
        {
          name: 'observability',
          title: 'Observability',
          description: 'Logs, metrics and traces: finding out what is wrong.',
        },
      ],
    },
    options,
  );
  harvested.operator.cluster.source('design-system', { spec: { url: 'file:///nothing-here' } });
  await eventually(
    'the source without a folder is told of',
    async () =>
      (await (await fetch(`${harvested.server.url}/health`)).json()) as { sources: Record<string, { status: string }> },
    ({ sources }) => sources['design-system']?.status === 'failed',
  );
  return { harvested, origin: harvested.server.url };
}
