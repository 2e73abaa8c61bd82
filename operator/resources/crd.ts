// The CustomResourceDefinitions, made from the schemas and the rules; refuses to make what Kubernetes would refuse.
import { z } from 'zod';
import { skillGatewayRules } from './gateway-rules.ts';
import type { Rule } from './rule.ts';
import { skillGatewaySpecSchema, skillGatewayStatusSchema } from './skill-gateway.ts';
import { skillSourceSpecSchema, skillSourceStatusSchema } from './skill-source.ts';
import { skillSourceRules } from './source-rules.ts';

export const group = 'lyceum.dev';
export const version = 'v1alpha1';
export const kinds = ['SkillSource', 'SkillGateway'] as const;
export type Kind = (typeof kinds)[number];

/** A node of a structural schema, as apiextensions.k8s.io/v1 JSONSchemaProps has it. */
export interface StructuralSchema {
  type?: string;
  description?: string;
  default?: unknown;
  required?: string[];
  properties?: Record<string, StructuralSchema>;
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  'x-kubernetes-validations'?: CelRule[];
  [keyword: string]: unknown;
}

interface CelRule {
  rule: string;
  message: string;
  fieldPath?: string;
}

export interface Crd {
  /** The whole CustomResourceDefinition, in the order in which it is written. */
  definition: Record<string, unknown>;
  /** The schema of the kind's objects, from their root. */
  schema: StructuralSchema;
}

interface Description {
  names: { plural: string; singular: string; kind: Kind; shortName: string };
  about: string;
  spec: z.ZodType;
  status: z.ZodType;
  rules: readonly Rule[];
  columns: readonly Column[];
}

/** A column of `kubectl get`. */
export interface Column {
  name: string;
  type: 'string' | 'integer' | 'date';
  jsonPath: string;
  description: string;
}

const ready = '.status.conditions[?(@.type=="Ready")]';
const readyColumn: Column = {
  name: 'Ready',
  type: 'string',
  jsonPath: `${ready}.status`,
  description: 'Whether the catalogue of the current spec is published.',
};
const ageColumn: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Its age.',
};

const descriptions: Record<Kind, Description> = {
  SkillSource: {
    names: { plural: 'skillsources', singular: 'skillsource', kind: 'SkillSource', shortName: 'sksrc' },
    about: 'A SkillSource is one place where material for agents is kept: a git repository, a ConfigMap, a folder.',
    spec: skillSourceSpecSchema,
    status: skillSourceStatusSchema,
    rules: skillSourceRules,
    columns: [
      { name: 'URL', type: 'string', jsonPath: '.spec.url', description: 'Where the material is.' },
      {
        name: 'Revision',
        type: 'string',
        jsonPath: '.status.revision',
        description: 'What upstream calls what is published.',
      },
      { name: 'Skills', type: 'integer', jsonPath: '.status.counts.skills', description: 'Skills that are served.' },
      {
        name: 'Problems',
        type: 'integer',
        jsonPath: '.status.counts.problems',
        description: 'What the harvest has to say.',
      },
      readyColumn,
      { name: 'Status', type: 'string', jsonPath: `${ready}.message`, description: 'How it stands, in words.' },
      ageColumn,
    ],
  },
  SkillGateway: {
    names: { plural: 'skillgateways', singular: 'skillgateway', kind: 'SkillGateway', shortName: 'skgw' },
    about: 'A SkillGateway is one door through which agents read what the SkillSources of its namespace hold.',
    spec: skillGatewaySpecSchema,
    status: skillGatewayStatusSchema,
    rules: skillGatewayRules,
    columns: [
      { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'The MCP address to give to agents.' },
      {
        name: 'Sources',
        type: 'integer',
        jsonPath: '.status.catalogue.sources',
        description: 'Sources that are selected.',
      },
      { name: 'Skills', type: 'integer', jsonPath: '.status.catalogue.skills', description: 'Skills that are served.' },
      {
        name: 'Replicas',
        type: 'integer',
        jsonPath: '.status.replicas',
        description: 'Pods that there are.',
      },
      readyColumn,
      ageColumn,
    ],
  },
};

/** The printer columns of a kind, after its name. */
export const columnsOf = (kind: Kind): readonly Column[] => descriptions[kind].columns;

/** @throws Error where a schema cannot be said in Kubernetes, with the path of the node */
export function crdOf(kind: Kind): Crd {
  const { names, about, spec, status, rules, columns } = descriptions[kind];
  const schema: StructuralSchema = {
    type: 'object',
    description: about,
    properties: {
      apiVersion: { type: 'string', description: `${group}/${version}.` },
      kind: { type: 'string', description: `${kind}.` },
      metadata: { type: 'object' },
      spec: structuralSchema(spec, 'spec'),
      // A new object must not look like one whose status is about the current spec.
      status: { ...structuralSchema(status, 'status'), default: { observedGeneration: -1 } },
    },
  };
  if (schema.properties!.spec!.default === undefined) schema.required = ['spec'];
  for (const { at, field, cel, message } of rules) {
    const node = nodeAt(schema, at);
    node['x-kubernetes-validations'] ??= [];
    node['x-kubernetes-validations'].push({ rule: cel, message, ...(field === undefined ? {} : { fieldPath: field }) });
  }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural: names.plural,
        singular: names.singular,
        shortNames: [names.shortName],
        categories: ['lyceum'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
        },
      ],
    },
  };
  return { definition, schema };
}

function nodeAt(schema: StructuralSchema, at: string): StructuralSchema {
  let node = schema;
  for (const step of at === '' ? [] : at.split('.')) {
    const property = node.properties?.[step.replace('[]', '')];
    const next = step.endsWith('[]') ? property?.items : property;
    if (!next) throw new Error(`a rule stands on ${at}, which the schema does not have`);
    node = next;
  }
  return node;
}

/**
 * A zod schema as a structural schema: what goes into the API server (`io: input`), without what it does not know.
 * @param at the path of the node, for messages
 * @throws Error where Kubernetes would refuse it, or where it says less than this API promises: no description, no bound
 */
export function structuralSchema(schema: z.ZodType, at: string): StructuralSchema {
  const json = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
    cycles: 'throw',
    unrepresentable: 'throw',
  });
  return structural(json as Json, at);
}

type Json = Record<string, unknown>;

const kept = [
  ...['type', 'description', 'format', 'default', 'enum', 'nullable', 'pattern', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems'],
  ...['minProperties', 'maxProperties', 'required'],
];

const formats = new Set(['date-time', 'int32', 'int64', 'float', 'double', 'byte']);

function structural(json: Json, at: string): StructuralSchema {
  const refuse = (why: string): never => {
    throw new Error(`${at}: ${why}`);
  };
  if (json['x-kubernetes-int-or-string'] === true) return intOrString(json, refuse);
  for (const keyword of ['$ref', 'definitions', '$defs', 'oneOf', 'anyOf', 'allOf', 'not', 'uniqueItems']) {
    if (json[keyword]) refuse(`${keyword} is not for a structural schema`);
  }
  if (typeof json.type !== 'string') refuse('a structural schema needs a type');
  if (!json.description) refuse('kubectl explain has nothing to say here');

  const node: StructuralSchema = {};
  for (const keyword of kept) if (json[keyword] !== undefined) node[keyword] = json[keyword];
  for (const [keyword, value] of Object.entries(json)) if (keyword.startsWith('x-kubernetes-')) node[keyword] = value;
  if (node.format !== undefined && !formats.has(node.format as string)) delete node.format;

  switch (json.type) {
    case 'integer':
      node.format = 'int64';
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      break;
    case 'string':
      if (/\(\?|\\[1-9]/.test(String(node.pattern ?? ''))) refuse('RE2 knows no look-around and no back references');
      if (!node.maxLength && !node.enum && node.format !== 'date-time') refuse('the text has no maxLength');
      break;
    case 'array':
      if (!node.maxItems) refuse('the list has no maxItems');
      node.items = structural(json.items as Json, `${at}[]`);
      break;
    case 'object': {
      const properties = json.properties as Record<string, Json> | undefined;
      const additional = json.additionalProperties as Json | boolean | undefined;
      if (properties && additional) refuse('properties and additionalProperties exclude each other');
      if (properties) {
        const inner = Object.entries(properties).map(([name, value]) => [name, structural(value, `${at}.${name}`)]);
        node.properties = Object.fromEntries(inner);
      } else if (additional && additional !== true) {
        if (!node.maxProperties) refuse('the map has no maxProperties');
        node.additionalProperties = structural({ description: 'A value.', ...additional }, `${at}{}`);
      } else refuse('an object needs properties or additionalProperties');
      break;
    }
  }
  return node;
}

/** The one union that Kubernetes has. It takes the place of a type. */
function intOrString(json: Json, refuse: (why: string) => never): StructuralSchema {
  const { description, maxLength, default: value } = json;
  if (typeof description !== 'string') return refuse('kubectl explain has nothing to say here');
  if (typeof maxLength !== 'number') return refuse('the text has no maxLength');
  const common = { description, maxLength, 'x-kubernetes-int-or-string': true };
  return value === undefined ? common : { ...common, default: value };
}
