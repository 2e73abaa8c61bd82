// What an API server would do with a manifest document: take it as an object, or refuse it with a message.
import { createHash } from 'node:crypto';
import { crdOf } from '../../operator/resources/crd.ts';
import { parseSkillGateway, parseSkillSource } from '../../operator/resources/parse.ts';
import type { ManifestDocument } from './documents.ts';

/** An admitted document: its identity and what it holds, before the cluster gives it a generation. */
export interface AdmittedObject {
  apiVersion: string;
  kind: 'SkillSource' | 'SkillGateway' | 'ConfigMap' | 'Secret';
  namespace: string;
  name: string;
  uid: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** spec of a custom resource; data maps of a ConfigMap or Secret. */
  content: Record<string, unknown>;
}

export type Admission = { ok: true; object: AdmittedObject } | { ok: false; identity?: string; message: string };

const ownVersion = 'lyceum.dev/v1alpha1';
const dnsName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** @returns undefined for a document of a kind that Lyceum has no use for */
export function admit({ value }: ManifestDocument): Admission | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: false, message: 'not a Kubernetes object: apiVersion, kind and metadata are missing' };
  }
  const { apiVersion, kind, metadata, ...content } = value as Record<string, unknown>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    return { ok: false, message: `${typeof kind === 'string' ? 'apiVersion' : 'kind'} is missing` };
  }
  const own = kind === 'SkillSource' || kind === 'SkillGateway';
  if (!own && apiVersion.startsWith('lyceum.dev/')) {
    return { ok: false, message: 'the kinds of lyceum.dev are SkillSource and SkillGateway: correct kind' };
  }
  if (!own && !((kind === 'ConfigMap' || kind === 'Secret') && apiVersion === 'v1')) return undefined;

  const meta = (metadata ?? {}) as Record<string, unknown>;
  const name = meta.name;
  const namespace = meta.namespace ?? 'default';
  if (name === undefined) return { ok: false, message: `${kind}: metadata.name is missing` };
  if (typeof name !== 'string' || !dnsName.test(name)) {
    return { ok: false, message: `${kind}: metadata.name must be lower-case letters, digits, "-" and "."` };
  }
  if (typeof namespace !== 'string' || !dnsName.test(namespace)) {
    return { ok: false, message: `${kind} ${name}: metadata.namespace must be lower-case letters, digits and "-"` };
  }
  const identity = `${kind} ${namespace}/${name}`;
  if (own && apiVersion !== ownVersion) {
    return { ok: false, identity, message: `${kind} ${name}: apiVersion must be ${ownVersion}` };
  }
  if (own) {
    const unknown = unknownFields(content, crdOf(kind).schema);
    if (unknown.length > 0)
      return { ok: false, identity, message: `${kind} ${name}: unknown field ${unknown.join(', ')}` };
    const object = { apiVersion: ownVersion, kind, metadata: { namespace, name }, spec: content.spec ?? {} };
    const parsed = kind === 'SkillSource' ? parseSkillSource(object) : parseSkillGateway(object);
    if (!parsed.ok) return { ok: false, identity, message: `${kind} ${name}: ${parsed.message}` };
  }
  return {
    ok: true,
    object: {
      apiVersion,
      kind,
      namespace,
      name,
      uid: uidOf(identity),
      labels: strings(meta.labels),
      annotations: strings(meta.annotations),
      content: own ? ((content.spec ?? {}) as Record<string, unknown>) : content,
    },
  };
}

/** The same object has the same uid in every run, so that what the last run published is still its own. */
function uidOf(identity: string): string {
  const hex = createHash('sha256').update(identity).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

interface ObjectSchema {
  properties?: Record<string, ObjectSchema>;
  items?: ObjectSchema;
  additionalProperties?: unknown;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

/** Paths of fields that a schema does not have, as the API server's strict field validation finds them. */
function unknownFields(value: unknown, schema: ObjectSchema, at = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => (schema.items ? unknownFields(item, schema.items, `${at}[${index}]`) : []));
  }
  if (typeof value !== 'object' || value === null || !schema.properties) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = at === '' ? key : `${at}.${key}`;
    const property = schema.properties?.[key];
    return property ? unknownFields(inner, property, path) : [`"${path}"`];
  });
}

function strings(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, String(inner)]));
}
