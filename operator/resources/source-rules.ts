// The rules on a SkillSource that its schema cannot say.
// A rule that may see a credential stands on `spec`: of the value that a rule refuses the server prints no more than its type
// there, while the refusal of a text prints the text.
import { durationPattern, parseDuration, quantityPattern } from './quantities.ts';
import {
  celMatches,
  dnsName,
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
import type { SkillSourceSpec } from './skill-source.ts';

const dotSegment = '(^|/)\\.\\.?(/|$)';

const anyScheme =
  '^(github|git\\+https|git\\+http|git\\+ssh|webdav\\+https|webdav\\+http|s3|s3\\+https|s3\\+http|oci|oci\\+http|configmap|file|https|http)://';
const git = '^(github|git\\+https|git\\+http|git\\+ssh)://';
const isGit = matches(git);
const webDav = '^webdav\\+https?://';
const isWebDav = matches(webDav);
const s3 = '^s3(\\+https?)?://';
const isS3 = matches(s3);
const oci = '^oci(\\+http)?://';
const isOci = matches(oci);
const withSecret = '^(github|git\\+ssh|s3|oci|oci\\+http|((git|webdav|s3)\\+)?https?)://';
const mayHaveSecret = matches(withSecret);
const userinfo = '^[a-z0-9+]+://[^/?#]*@';
/** A user is no credential there. */
const sshUser = '^git\\+ssh://[A-Za-z0-9_][A-Za-z0-9._-]*@[^/?#@]*(/|$)';
/** As git itself also writes an address for SSH. */
const scpForm = '^[^/@:]+@[^/@:]+:';
const ssh = '^git\\+ssh://';
const githubUrl = '^github://[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$';
const githubDots = '/\\.{1,2}(\\.git)?(/|$)';
const gitUrl = '^git\\+https?://([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[^/?#\\\\\\x00-\\x20\\x7f]+)+/?$';
const sshUrl =
  '^git\\+ssh://([A-Za-z0-9_][A-Za-z0-9._-]*@)?([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[^/?#\\\\\\x00-\\x20\\x7f]+)+/?$';
const webDavUrl =
  '^webdav\\+https?://([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[^/?#\\\\\\x00-\\x20\\x7f]+)*/?$';
const keyPath = '(/([^/?#%\\\\\\x00-\\x20\\x7f]|%[0-9A-Fa-f]{2})+)*/?$';
const awsUrl = `^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]${keyPath}`;
const endpointUrl = `^s3\\+https?://([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?/[A-Za-z0-9][A-Za-z0-9._-]{1,254}${keyPath}`;
const repositoryPart = '[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*';
const ociUrl = `^oci(\\+http)?://([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/${repositoryPart})+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`;
const notInKeys = '/(\\.|%2[eE]){1,2}(/|$)|%(2[fF]|5[cC]|[01][0-9A-Fa-f]|7[fF])';
const regionName = '^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$';
const escapedDots = '/(\\.|%2[eE]){1,2}(/|$)';
const webAddress = '^https?://';
const indexUrl =
  '^https?://([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[^/?#\\\\\\x00-\\x20\\x7f]+)*/\\.well-known/(agent-skills|skills)/index\\.json$';
const configMap = '^configmap://';
const isConfigMap = matches(configMap);
const secretName = 'write the name of a Secret of this namespace';
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
const hasSshUser = matches(sshUser);
const isScpForm = matches(scpForm);
const isSsh = matches(ssh);
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
    cel: `${celMatches('self.url', anyScheme)} || ${celMatches('self.url', scpForm)}`,
    message:
      'the URL must begin with github://, git+https://, git+http://, git+ssh://, webdav+https://, webdav+http://, s3://, ' +
      's3+https://, s3+http://, oci://, oci+http://, https://, http://, configmap:// or file:///',
    holds: ({ url }) => hasScheme(url) || isScpForm(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.url',
    cel: `!${celMatches('self.url', scpForm)}`,
    message: 'git over SSH is written as a URL: write git+ssh://USER@HOST/PATH for USER@HOST:PATH',
    holds: ({ url }) => !isScpForm(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.url',
    cel: `!${celMatches('self.url', userinfo)} || ${celMatches('self.url', sshUser)}`,
    message: 'no credentials in the URL: put them in a Secret and name it in secretRef',
    holds: ({ url }) => !hasUserinfo(url) || hasSshUser(url),
  }),
  urlRule('^github://', githubUrl, githubDots, 'write github://OWNER/REPOSITORY, exactly these two names'),
  urlRule(
    '^git\\+https?://',
    gitUrl,
    dotSegment,
    'write git+https://HOST/PATH (or git+http://, with :PORT where needed), without a query, a fragment, blanks and ..',
  ),
  urlRule(
    ssh,
    sshUrl,
    escapedDots,
    'write git+ssh://USER@HOST/PATH (with :PORT where needed; without USER@ it is git), without a query, a fragment, blanks and ..',
  ),
  urlRule(
    webDav,
    webDavUrl,
    escapedDots,
    'write webdav+https://HOST/PATH (or webdav+http://, with :PORT where needed), without a query, a fragment, blanks and ..',
  ),
  urlRule(
    '^s3://',
    awsUrl,
    notInKeys,
    "write s3://BUCKET/PREFIX, the bucket's name as AWS has it, without a query, a fragment, blanks and ..",
  ),
  urlRule(
    '^s3\\+https?://',
    endpointUrl,
    notInKeys,
    'write s3+https://HOST/BUCKET/PREFIX (or s3+http://, with :PORT where needed), without a query, a fragment, blanks and ..',
  ),
  urlRule(
    oci,
    ociUrl,
    undefined,
    'write oci://HOST/REPOSITORY:TAG (or oci+http://, with :PORT where needed; @sha256:DIGEST for one state), the repository ' +
      'in lower case',
  ),
  urlRule(
    webAddress,
    indexUrl,
    escapedDots,
    'https:// and http:// are for discovery indexes: write https://HOST/.well-known/agent-skills/index.json, without a ' +
      'query, a fragment and ..; a git repository is git+https://HOST/PATH',
  ),
  urlRule(configMap, configMapUrl, undefined, 'write configmap://NAME, the name of a ConfigMap of this namespace'),
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
    message: 'ref is for git only (github://, git+https://, git+http://, git+ssh://): remove it',
    holds: ({ ref, url }) => ref === undefined || isGit(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.ref',
    cel: `!has(self.ref) || !${celMatches('self.url', oci)}`,
    message: 'the tag of an OCI artifact stands in the URL: write oci://HOST/REPOSITORY:TAG',
    holds: ({ ref, url }) => ref === undefined || !isOci(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.secretRef',
    cel: `!has(self.secretRef) || ${celMatches('self.url', withSecret)}`,
    message:
      'secretRef is for git, WebDAV, buckets, OCI artifacts and discovery indexes only, not for configmap:// and file:///: remove it',
    holds: ({ secretRef, url }) => secretRef === undefined || mayHaveSecret(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.secretRef',
    cel: `!${celMatches('self.url', webDav)} || has(self.secretRef)`,
    message: 'WebDAV needs a user: name a Secret with username and password in secretRef',
    holds: ({ secretRef, url }) => secretRef !== undefined || !isWebDav(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.secretRef',
    cel: `!${celMatches('self.url', ssh)} || has(self.secretRef)`,
    message: 'git over SSH needs a key: name a Secret with identity and known_hosts in secretRef',
    holds: ({ secretRef, url }) => secretRef !== undefined || !isSsh(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.cache',
    cel: `!has(self.cache) || ${celMatches('self.url', webDav)}`,
    message: 'cache is for WebDAV only (webdav+https://, webdav+http://): remove it',
    holds: ({ cache, url }) => cache === undefined || isWebDav(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.region',
    cel: `!has(self.region) || ${celMatches('self.url', s3)}`,
    message: 'region is for buckets only (s3://, s3+https://, s3+http://): remove it',
    holds: ({ region, url }) => region === undefined || isS3(url),
  }),
  rule<SkillSourceSpec>({
    at: 'spec',
    field: '.webhook',
    cel: `!has(self.webhook) || !${celMatches('self.url', configMap)}`,
    message: 'webhook is not for configmap://, since a changed ConfigMap is noticed at once: remove it',
    holds: ({ webhook, url }) => webhook === undefined || !isConfigMap(url),
  }),
  textRule('spec.region', regionName, "write the region's name, such as eu-central-1, or what the server's docs say"),
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
  globRule('spec.include.prompts[]'),
  globRule('spec.include.rules[]'),
  globRule('spec.include.profiles[]'),
  globRule('spec.include.files[]'),
  globRule('spec.exclude[]'),
  textRule('spec.secretRef.name', objectName, secretName),
  textRule('spec.webhook.secretRef.name', objectName, secretName),
  durationRule('refresh', '8760h', 'write a duration such as 30s, 5m or 1h30m, at least 5s and at most 8760h'),
  durationRule('timeout', '1h', 'write a duration such as 30s, 5m or 1h, at least 5s and at most 1h'),
  textRule('spec.limits.fileSize', quantityPattern, quantityMessage),
  textRule('spec.limits.totalSize', quantityPattern, quantityMessage),
];
