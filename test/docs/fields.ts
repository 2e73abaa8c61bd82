// What a reference page must say of each field of a kind: its path, its type with bounds, and its default.
import { crdOf, type Kind, type StructuralSchema } from '../../operator/resources/crd.ts';

export interface Field {
  /** `spec.include.skills`, `spec.libraries[].name`. */
  path: string;
  /** `text, at most 64 characters`. */
  type: string;
  /** The default as it stands in a table: `required`, `–` for none, else JSON in backticks. */
  default: string;
  description: string;
}

/** Fields whose inside is a pod's own: the page names them and links to where Kubernetes describes them. */
const asInPods = new Set(['spec.affinity']);

export function fieldsOf(kind: Kind): Field[] {
  const { schema } = crdOf(kind);
  return ['spec', 'status'].flatMap((part) => below(schema.properties![part]!, part));
}

function below(node: StructuralSchema, path: string): Field[] {
  const required = new Set(node.required ?? []);
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => [
    {
      path: `${path}.${name}`,
      type: typeOf(child),
      default: required.has(name) ? 'required' : defaultOf(child),
      description: child.description ?? '',
    },
    ...(asInPods.has(`${path}.${name}`) ? [] : below(child, `${path}.${name}`)),
    ...(child.items === undefined ? [] : below(child.items, `${path}.${name}[]`)),
  ]);
}

function typeOf(node: StructuralSchema): string {
  if (node['x-kubernetes-int-or-string']) return `number or text, at most ${node.maxLength} characters`;
  switch (node.type) {
    case 'string':
      if (Array.isArray(node.enum)) return node.enum.map((value) => `\`${value}\``).join(', ');
      if (node.format === 'date-time') return 'time, RFC 3339';
      return node.minLength === undefined
        ? `text, at most ${node.maxLength} characters`
        : `text, ${node.minLength} to ${node.maxLength} characters`;
    case 'integer':
      if (node.maximum === undefined) return node.minimum === undefined ? 'number' : `number, at least ${node.minimum}`;
      return `number, ${node.minimum} to ${node.maximum}`;
    case 'boolean':
      return '`true` or `false`';
    case 'array':
      return `list, at most ${node.maxItems}${node.items?.type === 'string' ? `, each ${typeOf(node.items)}` : ''}`;
    case 'object':
      if (node.additionalProperties === undefined) return 'object';
      return `map, at most ${node.maxProperties}, values ${typeOf(node.additionalProperties)}`;
    default:
      throw new Error(`no words for the type ${node.type}`);
  }
}

const defaultOf = (node: StructuralSchema): string =>
  node.default === undefined
    ? '–'
    : `\`${typeof node.default === 'string' && node.default !== '' ? node.default : JSON.stringify(node.default)}\``;

/** The row of a field in its table, as Markdown. */
export const rowOf = ({ path, type, default: fallback, description }: Field): string =>
  `| \`${path}\` | ${type} | ${fallback} | ${description.replace(/[|*]/g, '\\$&')} |`;
