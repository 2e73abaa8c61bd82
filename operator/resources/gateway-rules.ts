// The rules on a SkillGateway that its schema cannot say.
import { quantityPattern } from './quantities.ts';
import {
  celMatches,
  labelKey,
  labelValue,
  libraryMessage,
  libraryName,
  matches,
  objectName,
  quantityMessage,
  type Rule,
  rule,
  tagMessage,
  tagPattern,
  textRule,
} from './rule.ts';
import type { SkillGatewaySpec } from './skill-gateway.ts';

type Sources = NonNullable<SkillGatewaySpec['sources']>;
type Selector = NonNullable<Sources['selector']>;
type Requirement = NonNullable<Selector['matchExpressions']>[number];

const isLabelKey = matches(labelKey);
const isLabelValue = matches(labelValue);

/** Labels of the pods that tell to whom they belong: the Service and the Deployment find them by these. */
const ownLabel = '^(app\\.kubernetes\\.io/(name|instance|managed-by)|pod-template-hash|([^/]*\\.)?lyceum\\.dev/.*)$';
const isOwnLabel = matches(ownLabel);
/** Annotations of the operator's own, and those that once switched a pod's seccomp and AppArmor profiles. */
const ownAnnotation = '^([^/]*\\.)?(lyceum\\.dev|security\\.(alpha|beta)\\.kubernetes\\.io)/';
const isOwnAnnotation = matches(ownAnnotation);

const labelsMessage = 'write labels as Kubernetes has them, such as team: platform or example.com/team: platform';
const areLabels = `self.all(key, ${celMatches('key', labelKey)} && ${celMatches('self[key]', labelValue)})`;
const holdsLabels = (self: Record<string, string>): boolean =>
  Object.entries(self).every(([key, value]) => isLabelKey(key) && isLabelValue(value));

const labelsRule = (at: string): Rule =>
  rule<Record<string, string>>({ at, cel: areLabels, message: labelsMessage, holds: holdsLabels });

const annotationsRule = (at: string): Rule =>
  rule<Record<string, string>>({
    at,
    cel: `self.all(key, ${celMatches('key', labelKey)} && !${celMatches('key', ownAnnotation)})`,
    message:
      'write annotations as Kubernetes has them, such as example.com/team: platform; those of lyceum.dev and of security profiles are not yours to set',
    holds: (self) => Object.keys(self).every((key) => isLabelKey(key) && !isOwnAnnotation(key)),
  });

const cpuPattern = '^([1-9][0-9]{0,8}m?|[0-9]{1,6}\\.[0-9]{1,3})$';
const cpuMessage = 'write CPUs such as 500m, 1 or 1.5';

/** A rule on a quantity: a number above 0, or a text that matches the pattern. */
const amountRule = (at: string, pattern: string, message: string): Rule => {
  const fits = matches(pattern);
  return rule<number | string>({
    at,
    cel: `type(self) == int ? int(self) > 0 : ${celMatches('string(self)', pattern)}`,
    message,
    holds: (self) => (typeof self === 'number' ? self > 0 : fits(self)),
  });
};

const amountRules = (['requests', 'limits'] as const).flatMap((of) => [
  amountRule(`spec.resources.${of}.cpu`, cpuPattern, cpuMessage),
  amountRule(`spec.resources.${of}.memory`, quantityPattern, quantityMessage),
  amountRule(`spec.resources.${of}.ephemeral-storage`, quantityPattern, quantityMessage),
]);

type Toleration = NonNullable<SkillGatewaySpec['tolerations']>[number];
type Spread = NonNullable<SkillGatewaySpec['topologySpreadConstraints']>[number];
type PullSecrets = NonNullable<SkillGatewaySpec['imagePullSecrets']>;

const serviceName = '^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$';
const isServiceName = matches(serviceName);

/** The rules on what gives pods and Service their shape. */
const podShapeRules: readonly Rule[] = [
  rule<{ metadata: { name: string } }>({
    at: '',
    field: '.metadata',
    cel: celMatches('self.metadata.name', serviceName),
    message:
      "the name becomes a Service's: begin with a letter, write lower-case letters, digits and hyphens, at most 63, no hyphen at the end",
    holds: ({ metadata }) => isServiceName(metadata.name),
  }),
  annotationsRule('spec.service.annotations'),
  ...amountRules,
  labelsRule('spec.nodeSelector'),
  textRule('spec.tolerations[].key', labelKey, 'write the key of a taint, such as dedicated or example.com/dedicated'),
  textRule('spec.tolerations[].value', labelValue, 'write the value of a taint: letters, digits, - _ and .'),
  rule<Toleration>({
    at: 'spec.tolerations[]',
    cel: "self.operator == 'Exists' ? !has(self.value) : has(self.key)",
    message: 'Equal needs a key; Exists takes no value',
    holds: ({ operator, key, value }) => (operator === 'Exists' ? value === undefined : key !== undefined),
  }),
  rule<Toleration>({
    at: 'spec.tolerations[]',
    field: '.tolerationSeconds',
    cel: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
    message: 'tolerationSeconds goes with the effect NoExecute: set it, or remove tolerationSeconds',
    holds: ({ tolerationSeconds, effect }) => tolerationSeconds === undefined || effect === 'NoExecute',
  }),
  rule<Spread[]>({
    at: 'spec.topologySpreadConstraints',
    cel: 'self.all(one, self.exists_one(other, other.topologyKey == one.topologyKey && other.whenUnsatisfiable == one.whenUnsatisfiable))',
    message: 'each topologyKey stands here once for DoNotSchedule and once for ScheduleAnyway',
    holds: (self) => new Set(self.map((one) => `${one.whenUnsatisfiable} ${one.topologyKey}`)).size === self.length,
  }),
  textRule(
    'spec.topologySpreadConstraints[].topologyKey',
    labelKey,
    'write the key of a label of nodes, such as topology.kubernetes.io/zone',
  ),
  rule<Spread>({
    at: 'spec.topologySpreadConstraints[]',
    field: '.minDomains',
    cel: "!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",
    message: 'minDomains goes with DoNotSchedule: set it, or remove minDomains',
    holds: ({ minDomains, whenUnsatisfiable }) => minDomains === undefined || whenUnsatisfiable === 'DoNotSchedule',
  }),
  labelsRule('spec.podLabels'),
  rule<Record<string, string>>({
    at: 'spec.podLabels',
    cel: `!self.exists(key, ${celMatches('key', ownLabel)})`,
    message:
      'app.kubernetes.io/name, instance and managed-by, pod-template-hash and labels of lyceum.dev are set for you: remove them',
    holds: (self) => !Object.keys(self).some(isOwnLabel),
  }),
  annotationsRule('spec.podAnnotations'),
  rule<PullSecrets>({
    at: 'spec.imagePullSecrets',
    cel: 'self.all(one, self.exists_one(other, other.name == one.name))',
    message: 'each Secret stands here once',
    holds: (self) => new Set(self.map(({ name }) => name)).size === self.length,
  }),
  textRule('spec.imagePullSecrets[].name', objectName, 'write the name of a Secret of this namespace'),
];

type Autoscaling = NonNullable<SkillGatewaySpec['autoscaling']>;
type Peer = NonNullable<SkillGatewaySpec['networkPolicy']>['from'][number];

const cidrPattern = '^(([0-9]{1,3}\\.){3}[0-9]{1,3}/[0-9]{1,2}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/[0-9]{1,3})$';
const isCidr = matches(cidrPattern);
const cidrMessage = 'write a range of addresses, such as 10.0.0.0/8 or fd00::/8';

const selectorRules = (at: string): readonly Rule[] => [
  labelsRule(`${at}.matchLabels`),
  textRule(
    `${at}.matchExpressions[].key`,
    labelKey,
    'write the key of a label as Kubernetes has it, such as team or example.com/team',
  ),
  textRule(
    `${at}.matchExpressions[].values[]`,
    labelValue,
    'write the value of a label as Kubernetes has it: letters, digits, - _ and ., at most 63 characters',
  ),
  rule<Requirement>({
    at: `${at}.matchExpressions[]`,
    field: '.values',
    cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: 'In and NotIn need at least one value; Exists and DoesNotExist take none',
    holds: ({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') === values.length > 0,
  }),
];

/** The rules on how many pods there are, and on who reaches them. */
const scalingRules: readonly Rule[] = [
  rule<SkillGatewaySpec>({
    at: 'spec',
    field: '.autoscaling',
    cel: '!has(self.autoscaling) || !has(self.replicas)',
    message: 'give replicas or autoscaling, not both',
    holds: ({ autoscaling, replicas }) => autoscaling === undefined || replicas === undefined,
  }),
  rule<Autoscaling>({
    at: 'spec.autoscaling',
    cel: 'self.minReplicas <= self.maxReplicas',
    message: 'minReplicas is at most maxReplicas',
    holds: ({ minReplicas, maxReplicas }) => minReplicas <= maxReplicas,
  }),
  rule<SkillGatewaySpec>({
    at: 'spec',
    field: '.autoscaling',
    cel: '!has(self.autoscaling) || (has(self.resources.requests) && has(self.resources.requests.cpu))',
    message: 'autoscaling counts in percent of resources.requests.cpu: set that too',
    holds: ({ autoscaling, resources }) => autoscaling === undefined || resources.requests?.cpu !== undefined,
  }),
  rule<Peer>({
    at: 'spec.networkPolicy.from[]',
    cel: 'has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)',
    message: 'give podSelector, namespaceSelector or both; or ipBlock alone',
    holds: ({ ipBlock, podSelector, namespaceSelector }) =>
      (ipBlock === undefined) !== (podSelector === undefined && namespaceSelector === undefined),
  }),
  ...selectorRules('spec.networkPolicy.from[].podSelector'),
  ...selectorRules('spec.networkPolicy.from[].namespaceSelector'),
  textRule('spec.networkPolicy.from[].ipBlock.cidr', cidrPattern, cidrMessage),
  rule<string[]>({
    at: 'spec.networkPolicy.from[].ipBlock.except',
    cel: `self.all(range, ${celMatches('range', cidrPattern)})`,
    message: cidrMessage,
    holds: (self) => self.every(isCidr),
  }),
];

type Auth = NonNullable<SkillGatewaySpec['auth']>;
type TokenScope = Auth['scopes'][number];

const secretKey = '^[-._A-Za-z0-9]+$';
const isSecretKey = matches(secretKey);
const originPattern = '^[A-Za-z][-+.A-Za-z0-9]*://([-._A-Za-z0-9]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$';
const isOrigin = matches(originPattern);

/**
 * The rules on who may come in. Those that may see a credential stand on a list or an object: of the value that such a rule
 * refuses the server prints no more than its type.
 */
const accessRules: readonly Rule[] = [
  textRule('spec.auth.tokens.secretRef.name', objectName, 'write the name of a Secret of this namespace'),
  rule<TokenScope>({
    at: 'spec.auth.scopes[]',
    field: '.token',
    cel: celMatches('self.token', secretKey),
    message: "write the client's key in the Secret of tokens, such as n8n, never the token itself",
    holds: ({ token }) => isSecretKey(token),
  }),
  rule<TokenScope>({
    at: 'spec.auth.scopes[]',
    cel: 'has(self.library) || (has(self.tags) && size(self.tags) > 0)',
    message: 'give library, tags or both: without them this is no ceiling',
    holds: ({ library, tags = [] }) => library !== undefined || tags.length > 0,
  }),
  rule<Auth['scopes']>({
    at: 'spec.auth.scopes',
    cel: 'self.all(one, self.exists_one(other, other.token == one.token))',
    message: 'each token stands here once: put what it may see into one row',
    holds: (self) => new Set(self.map(({ token }) => token)).size === self.length,
  }),
  textRule('spec.auth.scopes[].library', libraryName, libraryMessage),
  textRule('spec.auth.scopes[].tags[]', tagPattern, tagMessage),
  rule<string[]>({
    at: 'spec.allowedOrigins',
    cel: `self.all(origin, ${celMatches('origin', originPattern)})`,
    message:
      'write each origin as scheme://host or scheme://host:port, such as https://claude.ai: without a path, a user and *',
    holds: (self) => self.every(isOrigin),
  }),
];

const syncRules: readonly Rule[] = [
  amountRule('spec.sync.sizeLimit', quantityPattern, quantityMessage),
  textRule('spec.sync.serviceAccounts[]', objectName, 'write the name of a ServiceAccount of this namespace'),
  rule<{ auth?: unknown; sync?: { serviceAccounts?: string[] } }>({
    at: 'spec',
    field: '.sync.serviceAccounts',
    cel: '!has(self.auth) || !has(self.sync) || !has(self.sync.serviceAccounts) || size(self.sync.serviceAccounts) == 0',
    message:
      'a copy holds what tokens are known by, so pods of others get none of a gateway with auth: remove one of the two, or give those pods a SkillGateway of their own',
    holds: ({ auth, sync }) => auth === undefined || (sync?.serviceAccounts ?? []).length === 0,
  }),
];

const hostName = '^([a-z0-9]([-a-z0-9]*[a-z0-9])?\\.)*[a-z]([-a-z0-9]*[a-z0-9])?$';
const hostMessage = 'write one name in lower-case letters, such as skills.example.com: no address, no port, no *';
const path = '^(/|(/\\.?[A-Za-z0-9_~][-A-Za-z0-9._~]*)+/?)$';
/** With these who may write gateways would configure the controller that all share. */
const snippet = '-snippets?$';
const isSnippet = matches(snippet);

const namespaceName = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
type ParentRefs = NonNullable<SkillGatewaySpec['httpRoute']>['parentRefs'];
type ParentRef = ParentRefs[number];
/** As the Gateway API has it: a namespace that is left out is none of those that are named. CEL has `namespace` as a word of its own. */
const sameGateway =
  "one.name == other.name && (has(one.__namespace__) ? one.__namespace__ : '') == (has(other.__namespace__) ? other.__namespace__ : '')";
const isSameGateway = (one: ParentRef, other: ParentRef): boolean =>
  one.name === other.name && one.namespace === other.namespace;
/** One that names no listener means those that another one names. */
const sameListener = '(!has(one.sectionName) || !has(other.sectionName) || one.sectionName == other.sectionName)';
const isSameListener = (one: ParentRef, other: ParentRef): boolean =>
  one.sectionName === undefined || other.sectionName === undefined || one.sectionName === other.sectionName;

/** The rules on what lets in people from outside the cluster. */
const outsideRules: readonly Rule[] = [
  ...(['ingress', 'httpRoute'] as const).map((field) =>
    rule<{ auth?: unknown; ingress?: unknown; httpRoute?: unknown }>({
      at: 'spec',
      field: `.${field}`,
      cel: `!has(self.${field}) || has(self.auth)`,
      message: `whoever comes from outside the cluster must show a token: set auth too, or remove ${field}`,
      holds: (self) => self[field] === undefined || self.auth !== undefined,
    }),
  ),
  textRule('spec.ingress.className', objectName, 'write the name of an IngressClass'),
  textRule('spec.ingress.host', hostName, hostMessage),
  textRule('spec.ingress.path', path, 'write a path that begins with /, such as / or /mcp: no query, no pattern'),
  textRule('spec.ingress.tlsSecretName', objectName, 'write the name of a TLS Secret of this namespace'),
  annotationsRule('spec.ingress.annotations'),
  rule<Record<string, string>>({
    at: 'spec.ingress.annotations',
    cel: `!self.exists(key, ${celMatches('key', snippet)})`,
    message: 'snippets would configure a controller that others share: remove them',
    holds: (self) => !Object.keys(self).some(isSnippet),
  }),
  textRule('spec.httpRoute.parentRefs[].name', objectName, 'write the name of a Gateway'),
  textRule('spec.httpRoute.parentRefs[].namespace', namespaceName, "write the name of the Gateway's namespace"),
  textRule('spec.httpRoute.parentRefs[].sectionName', objectName, 'write the name of a listener of the Gateway'),
  rule<ParentRefs>({
    at: 'spec.httpRoute.parentRefs',
    cel: `self.all(one, self.exists_one(other, ${sameGateway} && ${sameListener}))`,
    message: 'each Gateway stands here once, or each time with another sectionName',
    holds: (self) =>
      self.every((one) => self.filter((other) => isSameGateway(one, other) && isSameListener(one, other)).length === 1),
  }),
  textRule('spec.httpRoute.hostnames[]', hostName, hostMessage),
  rule<string[]>({
    at: 'spec.httpRoute.hostnames',
    cel: 'self.all(one, self.exists_one(other, other == one))',
    message: 'each name stands here once',
    holds: (self) => new Set(self).size === self.length,
  }),
];

export const skillGatewayRules: readonly Rule[] = [
  rule<Sources>({
    at: 'spec.sources',
    cel: '!has(self.selector) || !has(self.names)',
    message: 'give selector or names, not both',
    holds: ({ selector, names }) => selector === undefined || names === undefined,
  }),
  textRule('spec.sources.names[]', objectName, 'write the name of a SkillSource of this namespace'),
  ...selectorRules('spec.sources.selector'),
  rule<SkillGatewaySpec['libraries']>({
    at: 'spec.libraries',
    cel: 'self.all(one, self.exists_one(other, other.name == one.name))',
    message: 'each library stands here once: put the rows of one name together',
    holds: (self) => new Set(self.map(({ name }) => name)).size === self.length,
  }),
  textRule('spec.libraries[].name', libraryName, libraryMessage),
  textRule('spec.libraries[].tags[]', tagPattern, tagMessage),
  textRule('spec.scope.library', libraryName, libraryMessage),
  textRule('spec.scope.tags[]', tagPattern, tagMessage),
  ...accessRules,
  ...syncRules,
  ...outsideRules,
  ...scalingRules,
  ...podShapeRules,
];
