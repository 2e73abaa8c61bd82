// The files that are made from the schemas, as they must be: those of crds/, and their twins in the Helm chart.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { crdOf, group, kinds } from './crd.ts';

const repository = join(import.meta.dirname, '../..');
const written = { lineWidth: 120, aliasDuplicateObjects: false };
const definitions = kinds.map((kind) => {
  const { definition } = crdOf(kind);
  const { plural } = (definition.spec as { names: { plural: string } }).names;
  return { file: `${group}_${plural}.yaml`, definition };
});

/** The files of crds/: their names and their text. */
export function crdFiles(): Map<string, string> {
  const head = '# Made by `make generate` from operator/resources. Change it there.\n';
  return new Map(definitions.map(({ file, definition }) => [file, head + stringify(definition, written)]));
}

/**
 * The files of the chart that repeat others: the same definitions as templates, and the operator's Roles. Helm never
 * upgrades what a chart has in its own crds/, so they are templates, kept when the release goes.
 * @returns paths from the chart's folder and their text
 */
export function chartFiles(): Map<string, string> {
  const crds = definitions.map(({ file, definition }): [string, string] => [
    `templates/crds/${file}`,
    crdTemplate(definition),
  ]);
  const roles = ['role.yaml', 'leader-role.yaml'].map((name): [string, string] => [
    `files/${name}`,
    readFileSync(join(repository, 'operator/kubernetes', name), 'utf8'),
  ]);
  return new Map([...crds, ...roles]);
}

function crdTemplate({ metadata, ...definition }: Record<string, unknown>): string {
  const { apiVersion, kind, ...rest } = definition;
  return `{{- /* Made by \`make generate\` from operator/resources. Change it there. */}}
{{- if .Values.crds.enabled }}
apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: ${(metadata as { name: string }).name}
  labels:
    {{- include "lyceum.labels" . | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
${stringify(rest, written).replaceAll('{{', '{{ "{{" }}')}{{- end }}
`;
}
