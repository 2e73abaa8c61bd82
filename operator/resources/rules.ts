// What a schema cannot say: each rule once for the API server, in CEL, and once for `lyceum run` and `check`, in TypeScript.
// A rule that may see a credential stands on `spec`: of the value that a rule refuses the server prints no more than its type
// there, while the refusal of a text prints the text.
import { libraryNamePattern } from '../../catalogue/names.ts';
import { durationPattern, parseDuration, quantityPattern } from './quantities.ts';
import type { SkillGatewaySpec } from './skill-gateway.ts';
import type { SkillSourceSpec } from './skill-source.ts';

export interface Rule {
  /** The node it stands on, from the object's root: ``, `spec`, `spec.tags[]` (each of them). */
  at: string;
  /** The field to mend, from that node, where it is not the node itself: `.url`. */
  field?: string;
  /** CEL over `self`, the node's value after defaults. */
  cel: string;
  /** What to write instead. It is the same whatever was written, so it repeats nothing. */
  message: string;
  /** The twin of `cel`, over the same value. */
  holds(self: unknown): boolean;
}

interface RuleOn<Self> {
  at: string;
  field?: string;
  cel: string;
  message: string;
  holds(self: Self): boolean;
}

const rule = <Self>(on: RuleOn<Self>): Rule => on as Rule;

/** Every pattern is read by RE2 in the server and by JavaScript here: no look-around, no back references, explicit classes. */
const matches = (pattern: string): ((value: string) => boolean) => {
  const expression = new RegExp(pattern, 'u');
  return (value) => expression.test(value);
};

/** `value` matches the pattern, in CEL. */
const celMatches = (value: string, pattern: string): string =>
  `${value}.matches('${pattern.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}')`;

/** A rule that a text matches a pattern, where the text is neither secret nor a URL. */
const textRule = (at: string, pattern: string, message: string): Rule =>
  rule<string>({ at, cel: celMatches('self', pattern), message, holds: matches(pattern) });

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const dnsName = `${label}(\\.${label})*`;
const objectName = `^${dnsName}$`;
const libraryName = libraryNamePattern.source;
const labelName = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const labelKey = `^(${dnsName}/)?${labelName}$`;
const labelValue = `^(${labelName})?$`;
const libraryMessage = 'a library is named in lower-case letters, digits and hyphens, with no hyphen at either end';
const tagPattern = '^[^,\\x00-\\x20\\x7f]+$';
const tagMessage = 'a tag is one word, without commas and blanks: write each tag as an item of its own';
const quantityMessage = 'write bytes, or a quantity such as 512Ki, 4Mi or 1Gi';
const dotSegment = '(^|/)\\.\\.?(/|$)';

const anyScheme = '^(github|git\\+https|git\\+http|configmap|file)://';
const git = '^(github|git\\+https|git\\+http)://';
const isGit = matches(git);
const userinfo = '^[a-z+]+://[^/?#]*@';
const githubUrl = '^github://[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$';
const githubDots = '/\\.{1,2}(\\.git)?(/|$)';
const gitUrl = '^git\\+https?://([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[^/?#\\\\\\x00-\\x20\\x7f]+)+/?$';
const configMapUrl = `^configmap://${dnsName}$`;
const fileUrl = '^file:///[^?#\\\\\\x00-\\x1f\\x7f]*$';

/** A rule on the URLs of one scheme. */
const urlRule = (scheme: string, pattern: string, never: string | undefined, message: string): Rule => {
  const [isScheme, fits, isNever] = [matches(scheme), matches(pattern), matches(never ?? '^$')];
  const excluded = never === undefined ? '' : ` && !${celMatches('self.url', never)}`;
  return rule<SkillSourceSpec>({
    at: 'spec',
    field: '.url',
    cel: `!${celMatches('self.url', scheme)} || (${celMatches('self.url', pattern)}${excluded})`,
    message,
    holds: ({ url }) => !isScheme(url) || (fits(url) && !isNever(url)),
  });
};

const hasScheme = matches(anyScheme);
const hasUserinfo = matches(userinfo);
const isLibraryName = matches(libraryName);
const isDuration = matches(durationPattern);

const durationRule = (field: string, longest: string, message: string): Rule =>
  rule<string>({
    at: `spec.${field}`,
    cel: `${celMatches('self', durationPattern)} && duration(self) >= duration('5s') && duration(self) <= duration('${longest}')`,
    message,
    holds: (self) => isDuration(self) && parseDuration(self) >= 5 && parseDuration(self) <= parseDuration(longest),
  });

const relative = '^[^/\\\\\\x00-\\x1f\\x7f]([^\\\\\\x00-\\x1f\\x7f]*[^/\\\\\\x00-\\x1f\\x7f])?$';
const relativeFolder = matches(relative);
const hasDotSegment = matches(dotSegment);
const refPattern = '^[^-/~^:?*\\[\\\\\\x00-\\x20\\x7f][^~^:?*\\[\\\\\\x00-\\x20\\x7f]*$';
const isRef = matches(refPattern);
const globPattern = '^[^/\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$';
const isGlob = matches(globPattern);

const globRule = (at: string): Rule =>
  rule<string>({
    at,
    cel: `${celMatches('self', globPattern)} && !${celMatches('self', dotSegment)}`,
    message:
      'a glob is relative and stays inside: write something like skills/*/SKILL.md, without .. and without / in front',
    holds: (self) => isGlob(self) && !hasDotSegment(self),
  });

export const skillSourceRules: readonly Rule[] = [
  rule<{ metadata: { name: string }; spec: SkillSourceSpec }>({
    at: '',
    field: '.spec.library',
    cel: `has(self.spec.library) || ${celMatches('self.metadata.name', libraryName)}`,
    message: `metadata.name cannot be the name of the library: set spec.library; ${libraryMessage}`,
    holds: ({ metadata, spec }) => spec.library !== undefined || isLibraryName(metadata.name),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.url',
    cel: celMatches('self.url', anyScheme),
    message: 'the URL must begin with github://, git+https://, git+http://, configmap:// or file:///',
    holds: ({ url }) => hasScheme(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.url',
    cel: `!${celMatches('self.url', userinfo)}`,
    message: 'no credentials in the URL: put them in a Secret and name it in secretRef',
    holds: ({ url }) => !hasUserinfo(url),
  }),
  urlRule('^github://', githubUrl, githubDots, 'write github://OWNER/REPOSITORY, exactly these two names'),
  urlRule(
    '^git\\+https?://',
    gitUrl,
    dotSegment,
    'write git+https://HOST/PATH (or git+http://, with :PORT where needed), without a query, a fragment, blanks and ..',
  ),
  urlRule(
    '^configmap://',
    configMapUrl,
    undefined,
    'write configmap://NAME, the name of a ConfigMap of this namespace',
  ),
  urlRule(
    '^file:',
    fileUrl,
    dotSegment,
    "write file:///PATH, absolute below the operator's file root, with three slashes and without ..",
  ),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.ref',
    cel: `!has(self.ref) || ${celMatches('self.url', git)}`,
    message: 'ref is for git only (github://, git+https://, git+http://): remove it',
    holds: ({ ref, url }) => ref === undefined || isGit(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.secretRef',
    cel: `!has(self.secretRef) || ${celMatches('self.url', git)}`,
    message: 'secretRef is for git only (github://, git+https://, git+http://): remove it',
    holds: ({ secretRef, url }) => secretRef === undefined || isGit(url),
  }),
  rule<string>({
    at: 'spec.ref',
    cel: `${celMatches('self', refPattern)} && !self.contains('..')`,
    message: "write a branch, a tag, a full ref such as refs/heads/main, or a commit's 40 hex digits",
    holds: (self) => isRef(self) && !self.includes('..'),
  }),
  rule<string>({
    at: 'spec.subdirectory',
    cel: `self == '' || (${celMatches('self', relative)} && !${celMatches('self', dotSegment)})`,
    message: 'write a folder of the source such as packs/python, without .. and without / at either end',
    holds: (self) => self === '' || (relativeFolder(self) && !hasDotSegment(self)),
  }),
  textRule('spec.library', libraryName, libraryMessage),
  textRule('spec.tags[]', tagPattern, tagMessage),
  globRule('spec.include.skills[]'),
  globRule('spec.include.files[]'),
  globRule('spec.exclude[]'),
  textRule('spec.secretRef.name', objectName, 'write the name of a Secret of this namespace'),
  durationRule('refresh', '8760h', 'write a duration such as 30s, 5m or 1h30m, at least 5s and at most 8760h'),
  durationRule('timeout', '1h', 'write a duration such as 30s, 5m or 1h, at least 5s and at most 1h'),
  textRule('spec.limits.fileSize', quantityPattern, quantityMessage),
  textRule('spec.limits.totalSize', quantityPattern, quantityMessage),
];

type Sources = NonNullable<SkillGatewaySpec['sources']>;
type Selector = NonNullable<Sources['selector']>;
type Requirement = NonNullable<Selector['matchExpressions']>[number];

const isLabelKey = matches(labelKey);
const isLabelValue = matches(labelValue);

export const skillGatewayRules: readonly Rule[] = [
  rule<Sources>({
    at: 'spec.sources',
    cel: '!has(self.selector) || !has(self.names)',
    message: 'give selector or names, not both',
    holds: ({ selector, names }) => selector === undefined || names === undefined,
  }),
  textRule('spec.sources.names[]', objectName, 'write the name of a SkillSource of this namespace'),
  rule<NonNullable<Selector['matchLabels']>>({
    at: 'spec.sources.selector.matchLabels',
    cel: `self.all(key, ${celMatches('key', labelKey)} && ${celMatches('self[key]', labelValue)})`,
    message: 'write labels as Kubernetes has them, such as team: platform or example.com/team: platform',
    holds: (self) => Object.entries(self).every(([key, value]) => isLabelKey(key) && isLabelValue(value)),
  }),
  textRule(
    'spec.sources.selector.matchExpressions[].key',
    labelKey,
    'write the key of a label as Kubernetes has it, such as team or example.com/team',
  ),
  textRule(
    'spec.sources.selector.matchExpressions[].values[]',
    labelValue,
    'write the value of a label as Kubernetes has it: letters, digits, - _ and ., at most 63 characters',
  ),
  rule<Requirement>({
    at: 'spec.sources.selector.matchExpressions[]',
    field: '.values',
    cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: 'In and NotIn need at least one value; Exists and DoesNotExist take none',
    holds: ({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') === values.length > 0,
  }),
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
];

/** What stands at a rule's node in an object: the values that are there, each with its own path. */
export function valuesAt(object: unknown, at: string): { path: string; value: unknown }[] {
  let found = [{ path: '', value: object }];
  for (const step of at === '' ? [] : at.split('.')) {
    const name = step.replace(/(\[\])?$/, '');
    found = found.flatMap(({ path, value }) => {
      const inner = (value as Record<string, unknown>)[name];
      const at = path === '' ? name : `${path}.${name}`;
      if (inner === undefined) return [];
      if (!step.endsWith('[]')) return [{ path: at, value: inner }];
      return (inner as unknown[]).map((item, index) => ({ path: `${at}[${index}]`, value: item }));
    });
  }
  return found;
}
