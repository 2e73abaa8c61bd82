// Specs of SkillSources, good and bad.
import { type Case, library, objectName, on, oneWord, words } from './case.ts';

const github = 'github://obra/superpowers';
const credentials = /no credentials in the URL.*secretRef/;
const schemes =
  /github:\/\/, git\+https:\/\/, git\+http:\/\/, git\+ssh:\/\/, webdav\+https:\/\/, webdav\+http:\/\/, s3:\/\/, s3\+https:\/\/, s3\+http:\/\/, oci:\/\/, oci\+http:\/\/, https:\/\/, http:\/\/, configmap:\/\/ or file:\/\/\//;
const twoNames = /github:\/\/OWNER\/REPOSITORY/;
const sshForm = /git\+ssh:\/\/USER@HOST\/PATH/;
const needsIdentity = /identity and known_hosts/;
const gitAddress = /git\+https:\/\/HOST\/PATH/;
const dav = 'webdav+https://cloud.example.com/remote.php/dav/files/ann/skills';
const davAddress = /webdav\+https:\/\/HOST\/PATH/;
const davOnly = /for WebDAV only .*remove it/;
const needsUser = /WebDAV needs a user: name a Secret/;
const remoteOnly = /for git, WebDAV, buckets, OCI artifacts and discovery indexes only, .*remove it/;
const published = 'https://skills.example.com/.well-known/agent-skills/index.json';
const indexAddress = /https:\/\/HOST\/\.well-known\/agent-skills\/index\.json/;
const awsBucket = /s3:\/\/BUCKET\/PREFIX/;
const bucketAddress = /s3\+https:\/\/HOST\/BUCKET\/PREFIX/;
const bucketsOnly = /for buckets only .*remove it/;
const pinned = `@sha256:${'0'.repeat(64)}`;
const artifact = /oci:\/\/HOST\/REPOSITORY:TAG/;
const regionName = /the region's name, such as eu-central-1/;
const secretRef = { name: 's' };
const mapName = /configmap:\/\/NAME/;
const absolute = /file:\/\/\/PATH/;
const gitOnly = /for git only .*remove it/;
const refName = /a branch, a tag, a full ref/;
const every = /a duration such as 30s, 5m.*at least 5s/;
const quantity = /512Ki, 4Mi/;
const folder = /without \.\. and without \/ at either end/;
const glob = /a glob is relative/;

const urls: Case[] = [
  { what: 'a GitHub repository', spec: { url: github } },
  { what: 'a repository with dots, underscores and capitals', spec: { url: 'github://Some_Org/a.b-c.git' } },
  { what: 'git over HTTPS', spec: { url: 'git+https://git.example.com/team/pack.git' } },
  { what: 'git over HTTP with a port', spec: { url: 'git+http://gitea.gitea.svc:3000/team/pack' } },
  { what: 'git on an IPv6 address', spec: { url: 'git+http://[fd00::1]:3000/team/pack' } },
  { what: 'git over SSH', spec: { url: 'git+ssh://git@git.example.com/team/pack.git', secretRef, ref: 'main' } },
  { what: 'git over SSH with a port, as git', spec: { url: 'git+ssh://gitea.gitea.svc:2222/team/pack', secretRef } },
  { what: 'git over SSH on an IPv6 address', spec: { url: 'git+ssh://ann@[fd00::1]:22/~ann/my%20pack/', secretRef } },
  { what: 'git on ~user and escaped blanks', spec: { url: 'git+https://git.example.com/~ann/my%20pack/' } },
  { what: 'a folder of a Nextcloud', spec: { url: dav, secretRef } },
  {
    what: 'WebDAV over HTTP with a port',
    spec: { url: 'webdav+http://nextcloud.office.svc:8080/dav/my%20skills/', secretRef },
  },
  { what: 'WebDAV at the root of a server', spec: { url: 'webdav+https://dav.example.com', secretRef } },
  { what: 'WebDAV on an IPv6 address', spec: { url: 'webdav+http://[fd00::1]:3000/', secretRef } },
  { what: 'WebDAV without a Secret', spec: { url: dav }, refused: on('spec.secretRef', needsUser) },
  { what: 'WebDAV without a host', spec: { url: 'webdav+https:///x', secretRef }, refused: on('spec.url', davAddress) },
  { what: 'WebDAV with a query', spec: { url: `${dav}?token=x`, secretRef }, refused: on('spec.url', davAddress) },
  { what: 'WebDAV with a fragment', spec: { url: `${dav}#x`, secretRef }, refused: on('spec.url', davAddress) },
  { what: 'WebDAV with ..', spec: { url: `${dav}/../other`, secretRef }, refused: on('spec.url', davAddress) },
  {
    what: 'WebDAV with an escaped ..',
    spec: { url: `${dav}/%2e%2E/other`, secretRef },
    refused: on('spec.url', davAddress),
  },
  { what: 'WebDAV with a blank', spec: { url: `${dav}/my skills`, secretRef }, refused: on('spec.url', davAddress) },
  {
    what: 'WebDAV without a protocol',
    spec: { url: 'webdav://h/x', secretRef },
    refused: [
      { field: 'spec.url', remedy: schemes },
      { field: 'spec.secretRef', remedy: remoteOnly },
    ],
  },
  { what: 'a ConfigMap', spec: { url: 'configmap://team-skills.v1' } },
  { what: 'a folder', spec: { url: 'file:///srv/packs/mine' } },
  { what: 'the file root itself', spec: { url: 'file:///' } },
  { what: 'a folder with a blank and an @', spec: { url: 'file:///srv/my packs/@team' } },
  { what: 'no URL', spec: {}, refused: on('spec.url') },
  { what: 'a URL that is null', spec: { url: null }, refused: on('spec.url') },
  { what: 'a URL that is a number', spec: { url: 5 }, refused: on('spec.url') },
  { what: 'no spec', spec: undefined, refused: on('spec') },
  { what: 'an empty URL', spec: { url: '' }, refused: on('spec.url', schemes) },
  { what: "another publisher's index", spec: { url: published } },
  { what: 'an index that wants a token', spec: { url: published, secretRef } },
  {
    what: 'an index of the form before, over HTTP, with a port and a path',
    spec: { url: 'http://[fd00::1]:8000/team/.well-known/skills/index.json' },
  },
  {
    what: 'a plain https URL',
    spec: { url: 'https://github.com/obra/superpowers' },
    refused: on('spec.url', indexAddress),
  },
  { what: 'an index with a query', spec: { url: `${published}?token=x` }, refused: on('spec.url', indexAddress) },
  { what: 'an index with a fragment', spec: { url: `${published}#x` }, refused: on('spec.url', indexAddress) },
  {
    what: 'an index behind ..',
    spec: { url: 'https://h/a/%2E./.well-known/agent-skills/index.json' },
    refused: on('spec.url', indexAddress),
  },
  {
    what: 'an index without a host',
    spec: { url: 'https:///.well-known/agent-skills/index.json' },
    refused: on('spec.url', indexAddress),
  },
  {
    what: 'an index elsewhere',
    spec: { url: 'https://h/agent-skills/index.json' },
    refused: on('spec.url', indexAddress),
  },
  { what: 'an index with a ref', spec: { url: published, ref: 'main' }, refused: on('spec.ref', gitOnly) },
  { what: 'an index read live', spec: { url: published, cache: 'Live' }, refused: on('spec.cache', davOnly) },
  { what: 'a bucket on AWS', spec: { url: 's3://openkata-artifacts' } },
  {
    what: 'a prefix with a blank',
    spec: { url: 's3://team.skills-1/packs/my packs/', region: 'eu-central-1', secretRef },
    refused: on('spec.url', awsBucket),
  },
  {
    what: 'a prefix as in a URL',
    spec: { url: 's3://team.skills-1/packs/a%20b/ünï+1/', region: 'cn-north-1', secretRef },
  },
  { what: 'a bucket elsewhere', spec: { url: 's3+https://s3.example.com/Old_Bucket/x', region: 'auto' } },
  { what: 'a bucket in the cluster', spec: { url: 's3+http://minio.minio.svc:9000/skills', secretRef } },
  { what: 'a bucket on an IPv6 address', spec: { url: 's3+http://[fd00::1]:9000/skills/' } },
  { what: 'a bucket without a name', spec: { url: 's3:///packs' }, refused: on('spec.url', awsBucket) },
  { what: 'a bucket in capitals on AWS', spec: { url: 's3://Skills' }, refused: on('spec.url', awsBucket) },
  { what: 'a bucket with a query', spec: { url: 's3://skills/a?versionId=x' }, refused: on('spec.url', awsBucket) },
  { what: 'a bucket with an empty part', spec: { url: 's3://skills/a//b' }, refused: on('spec.url', awsBucket) },
  { what: 'a bucket with ..', spec: { url: 's3://skills/../b' }, refused: on('spec.url', awsBucket) },
  { what: 'a bucket with an escaped slash', spec: { url: 's3://skills/a%2Fb' }, refused: on('spec.url', awsBucket) },
  { what: 'a bucket with half an escape', spec: { url: 's3://skills/100%' }, refused: on('spec.url', awsBucket) },
  { what: 'a server without a bucket', spec: { url: 's3+https://h' }, refused: on('spec.url', bucketAddress) },
  { what: 'a bucket without a server', spec: { url: 's3+https:///b' }, refused: on('spec.url', bucketAddress) },
  {
    what: 'a bucket elsewhere with an escaped ..',
    spec: { url: 's3+http://h/skills/%2E./x' },
    refused: on('spec.url', bucketAddress),
  },
  {
    what: 'a bucket elsewhere with a line break',
    spec: { url: 's3+http://h/skills/a%0ab' },
    refused: on('spec.url', bucketAddress),
  },
  { what: 'a bucket with a ref', spec: { url: 's3://skills', ref: 'main' }, refused: on('spec.ref', gitOnly) },
  { what: 'a bucket read live', spec: { url: 's3://skills', cache: 'Live' }, refused: on('spec.cache', davOnly) },
  { what: 'a region on git', spec: { url: github, region: 'eu-west-1' }, refused: on('spec.region', bucketsOnly) },
  {
    what: 'a region that is a host',
    spec: { url: 's3://skills', region: 'x.example.com/' },
    refused: on('spec.region', regionName),
  },
  { what: 'an empty region', spec: { url: 's3://skills', region: '' }, refused: on('spec.region', regionName) },
  { what: 'an OCI artifact', spec: { url: 'oci://ghcr.io/acme/skills:v1.2_3-rc', secretRef } },
  { what: 'one in the cluster, without a tag', spec: { url: 'oci+http://registry.infra.svc:5000/skills' } },
  { what: 'one on an IPv6 address', spec: { url: 'oci+http://[fd00::1]:5000/a/b/c' } },
  { what: 'one of Docker Hub, by its digest', spec: { url: `oci://docker.io/acme/skills${pinned}` } },
  { what: 'one by tag and digest', spec: { url: `oci://ghcr.io/a-b/c__d.e:v1${pinned}` } },
  { what: 'an artifact without a repository', spec: { url: 'oci://ghcr.io' }, refused: on('spec.url', artifact) },
  { what: 'an artifact without a host', spec: { url: 'oci:///skills:v1' }, refused: on('spec.url', artifact) },
  { what: 'an artifact in capitals', spec: { url: 'oci://ghcr.io/Acme/skills' }, refused: on('spec.url', artifact) },
  { what: 'an artifact with ..', spec: { url: 'oci://ghcr.io/a/../b' }, refused: on('spec.url', artifact) },
  { what: 'an artifact with a query', spec: { url: 'oci://ghcr.io/a/b?x=y' }, refused: on('spec.url', artifact) },
  { what: 'an artifact with an empty tag', spec: { url: 'oci://ghcr.io/a/b:' }, refused: on('spec.url', artifact) },
  {
    what: 'an artifact with half a digest',
    spec: { url: 'oci://ghcr.io/a/b@sha256:00' },
    refused: on('spec.url', artifact),
  },
  {
    what: 'an artifact with a password',
    spec: { url: 'oci://ann:secret@ghcr.io/a/b' },
    refused: [
      { field: 'spec.url', remedy: credentials },
      { field: 'spec.url', remedy: artifact },
    ],
  },
  {
    what: 'an artifact with a ref',
    spec: { url: 'oci://ghcr.io/a/b', ref: 'v1' },
    refused: [
      { field: 'spec.ref', remedy: gitOnly },
      { field: 'spec.ref', remedy: /stands in the URL/ },
    ],
  },
  {
    what: 'an artifact read live',
    spec: { url: 'oci://ghcr.io/a/b', cache: 'Live' },
    refused: on('spec.cache', davOnly),
  },
  {
    what: 'git over SSH without a Secret',
    spec: { url: 'git+ssh://git@example.com/x' },
    refused: on('spec.secretRef', needsIdentity),
  },
  {
    what: 'an SSH address as scp writes it',
    spec: { url: 'git@github.com:obra/superpowers.git' },
    refused: on('spec.url', sshForm),
  },
  {
    what: 'git over SSH without a path',
    spec: { url: 'git+ssh://git@h', secretRef },
    refused: on('spec.url', sshForm),
  },
  {
    what: 'git over SSH with an option as host',
    spec: { url: 'git+ssh://h -oProxyCommand=x/y', secretRef },
    refused: on('spec.url', sshForm),
  },
  {
    what: 'git over SSH with an option as user',
    spec: { url: 'git+ssh://-oProxyCommand@h/y', secretRef },
    refused: [
      { field: 'spec.url', remedy: credentials },
      { field: 'spec.url', remedy: sshForm },
    ],
  },
  {
    what: 'git over SSH with a query',
    spec: { url: 'git+ssh://h/x?a=b', secretRef },
    refused: on('spec.url', sshForm),
  },
  {
    what: 'git over SSH with escaped ..',
    spec: { url: 'git+ssh://h/a/%2e%2E/b', secretRef },
    refused: on('spec.url', sshForm),
  },
  { what: 'a scheme in capitals', spec: { url: 'GITHUB://obra/superpowers' }, refused: on('spec.url', schemes) },
  { what: 'a blank before the scheme', spec: { url: ` ${github}` }, refused: on('spec.url', schemes) },
  { what: 'a path', spec: { url: '/srv/packs' }, refused: on('spec.url', schemes) },
  {
    what: 'a scheme of a later version',
    spec: { url: 'hg://h.example.com/team/pack' },
    refused: on('spec.url', schemes),
  },
  { what: 'a URL that is too long', spec: { url: `git+https://h/${words(2040)}` }, refused: on('spec.url') },
  { what: 'one name after github://', spec: { url: 'github://obra' }, refused: on('spec.url', twoNames) },
  {
    what: 'three names after github://',
    spec: { url: 'github://obra/superpowers/skills' },
    refused: on('spec.url', twoNames),
  },
  { what: 'a trailing slash after github://', spec: { url: `${github}/` }, refused: on('spec.url', twoNames) },
  { what: 'dots as a repository', spec: { url: 'github://obra/..' }, refused: on('spec.url', twoNames) },
  { what: 'a query after github://', spec: { url: `${github}?ref=main` }, refused: on('spec.url', twoNames) },
  { what: 'git without a path', spec: { url: 'git+https://git.example.com' }, refused: on('spec.url', gitAddress) },
  { what: 'git without a host', spec: { url: 'git+https:///team/pack' }, refused: on('spec.url', gitAddress) },
  { what: 'git with a query', spec: { url: 'git+https://h/x?private_token=abc' }, refused: on('spec.url', gitAddress) },
  { what: 'git with a fragment', spec: { url: 'git+https://h/x#main' }, refused: on('spec.url', gitAddress) },
  { what: 'git with .. in its path', spec: { url: 'git+https://h/a/../b' }, refused: on('spec.url', gitAddress) },
  { what: 'git with a blank', spec: { url: 'git+https://h/a b' }, refused: on('spec.url', gitAddress) },
  { what: 'git with a line break', spec: { url: 'git+https://h/a\nb' }, refused: on('spec.url', gitAddress) },
  {
    what: 'a ConfigMap of another namespace',
    spec: { url: 'configmap://other/skills' },
    refused: on('spec.url', mapName),
  },
  { what: 'a ConfigMap in capitals', spec: { url: 'configmap://Skills' }, refused: on('spec.url', mapName) },
  { what: 'no ConfigMap', spec: { url: 'configmap://' }, refused: on('spec.url', mapName) },
  { what: 'a folder with a host', spec: { url: 'file://server/packs' }, refused: on('spec.url', absolute) },
  { what: 'a folder with ..', spec: { url: 'file:///srv/../etc' }, refused: on('spec.url', absolute) },
];

/** Each has `hunter2` where a password would stand. */
export const withCredentials: Case[] = [
  { what: 'user and password', spec: { url: 'git+https://ann:hunter2@example.com/x' } },
  { what: 'a token', spec: { url: 'git+https://hunter2@example.com/x' } },
  { what: 'a password over SSH', spec: { url: 'git+ssh://ann:hunter2@example.com/x', secretRef: { name: 's' } } },
  {
    what: 'a password with an @ over SSH',
    spec: { url: 'git+ssh://ann@hunter2@example.com/x', secretRef: { name: 's' } },
  },
  { what: 'a token before a GitHub owner', spec: { url: 'github://hunter2@obra/superpowers' } },
  { what: 'a password with an @', spec: { url: 'git+http://ann:hunter2@@example.com/x' } },
  {
    what: 'a password for WebDAV',
    spec: { url: 'webdav+https://ann:hunter2@example.com/x', secretRef: { name: 's' } },
  },
  { what: 'a password for an unknown scheme', spec: { url: 'ftp://ann:hunter2@example.com/x' } },
  {
    what: 'a password for a discovery index',
    spec: { url: 'https://ann:hunter2@example.com/.well-known/agent-skills/index.json' },
  },
  { what: 'keys for a bucket on AWS', spec: { url: 's3://AKIA:hunter2@skills/x' } },
  { what: 'keys for a bucket elsewhere', spec: { url: 's3+https://AKIA:hunter2@s3.example.com/skills' } },
  { what: 'a password for a ConfigMap', spec: { url: 'configmap://ann:hunter2@skills' } },
  { what: 'a password beside a bad ref', spec: { url: 'git+https://ann:hunter2@example.com/x', ref: 'a b' } },
];

const sourceFields: Case[] = [
  {
    what: 'every field',
    spec: {
      url: github,
      ref: 'refs/heads/main',
      subdirectory: 'packs/python',
      library: 'superpowers',
      tags: ['engineering', 'größer'],
      include: { skills: ['skills/*/SKILL.md'], files: ['shared/**', '.github/{a,b}/[xy]?.md'] },
      exclude: ['backups/**', '**/*.tmp'],
      refresh: '1h30m',
      secretRef: { name: 'github-token' },
      timeout: '5s',
      limits: { files: 1, fileSize: '512Ki', totalSize: '1G' },
      suspend: true,
    },
  },
  {
    what: 'every kind by lists of its own',
    spec: {
      url: github,
      include: { skills: [], prompts: ['prompts/**/*.md'], rules: ['rules/*/RULE.md'], profiles: ['agents/*.md'] },
    },
  },
  { what: 'a kind switched off', spec: { url: github, include: { skills: [] } } },
  { what: 'null where a field has a default', spec: { url: github, tags: null, timeout: null, limits: null } },
  { what: 'null where a field may be left out', spec: { url: github, ref: null, refresh: null } },
  { what: 'a commit', spec: { url: github, ref: 'b36e08f3b36e08f3b36e08f3b36e08f3b36e08f3' } },
  { what: 'a branch with slashes, # and umlauts', spec: { url: github, ref: 'feature/ünï#1' } },
  { what: 'a ref on a ConfigMap', spec: { url: 'configmap://x', ref: 'main' }, refused: on('spec.ref', gitOnly) },
  { what: 'a ref on a folder', spec: { url: 'file:///x', ref: 'main' }, refused: on('spec.ref', gitOnly) },
  { what: 'an empty ref', spec: { url: github, ref: '' }, refused: on('spec.ref', refName) },
  {
    what: 'a ref that looks like an option',
    spec: { url: github, ref: '--upload-pack=x' },
    refused: on('spec.ref', refName),
  },
  { what: 'a range of commits', spec: { url: github, ref: 'a..b' }, refused: on('spec.ref', refName) },
  { what: 'a ref with a blank', spec: { url: github, ref: 'my branch' }, refused: on('spec.ref', refName) },
  { what: 'a ref that counts back', spec: { url: github, ref: 'main~1' }, refused: on('spec.ref', refName) },
  {
    what: 'a Secret for a ConfigMap',
    spec: { url: 'configmap://x', secretRef },
    refused: on('spec.secretRef', remoteOnly),
  },
  { what: 'a snapshot of a WebDAV folder', spec: { url: dav, secretRef, cache: 'Snapshot' } },
  { what: 'a WebDAV folder read live', spec: { url: dav, secretRef, cache: 'Live' } },
  { what: 'a cache in small letters', spec: { url: dav, secretRef, cache: 'live' }, refused: on('spec.cache') },
  { what: 'git read live', spec: { url: github, cache: 'Live' }, refused: on('spec.cache', davOnly) },
  { what: 'a cache on git', spec: { url: github, cache: 'Snapshot' }, refused: on('spec.cache', davOnly) },
  { what: 'a folder read live', spec: { url: 'file:///x', cache: 'Live' }, refused: on('spec.cache', davOnly) },
  { what: 'a ref on WebDAV', spec: { url: dav, secretRef, ref: 'main' }, refused: on('spec.ref', gitOnly) },
  { what: 'a Secret without a name', spec: { url: github, secretRef: {} }, refused: on('spec.secretRef.name') },
  {
    what: 'a Secret of another namespace',
    spec: { url: github, secretRef: { name: 'other/s' } },
    refused: on('spec.secretRef.name', objectName),
  },
  { what: 'a refresh of 5 seconds', spec: { url: github, refresh: '5s' } },
  { what: 'the longest refresh', spec: { url: github, refresh: '8760h' } },
  { what: 'a refresh under 5 seconds', spec: { url: github, refresh: '4s' }, refused: on('spec.refresh', every) },
  { what: 'a refresh over a year', spec: { url: github, refresh: '8760h1s' }, refused: on('spec.refresh', every) },
  {
    what: 'a refresh that would not fit',
    spec: { url: github, refresh: '999999h999999h9h' },
    refused: on('spec.refresh', every),
  },
  { what: 'a refresh without a unit', spec: { url: github, refresh: '5' }, refused: on('spec.refresh', every) },
  { what: 'a refresh in days', spec: { url: github, refresh: '5d' }, refused: on('spec.refresh', every) },
  { what: 'a refresh in milliseconds', spec: { url: github, refresh: '5000ms' }, refused: on('spec.refresh', every) },
  { what: 'a refresh with a fraction', spec: { url: github, refresh: '1.5m' }, refused: on('spec.refresh', every) },
  { what: 'a negative refresh', spec: { url: github, refresh: '-5m' }, refused: on('spec.refresh', every) },
  { what: 'a refresh of nothing', spec: { url: github, refresh: '0s' }, refused: on('spec.refresh', every) },
  { what: 'a refresh with a line break', spec: { url: github, refresh: '5m\n' }, refused: on('spec.refresh', every) },
  { what: 'an empty refresh', spec: { url: github, refresh: '' }, refused: on('spec.refresh', every) },
  { what: 'a refresh that is a number', spec: { url: github, refresh: 300 }, refused: on('spec.refresh') },
  {
    what: 'a refresh that is too long',
    spec: { url: github, refresh: '1s1s1s1s1s1s1s1s1s' },
    refused: on('spec.refresh'),
  },
  { what: 'a timeout of an hour', spec: { url: github, timeout: '1h' } },
  { what: 'a timeout over an hour', spec: { url: github, timeout: '61m' }, refused: on('spec.timeout', every) },
  { what: 'a timeout under 5 seconds', spec: { url: github, timeout: '1s' }, refused: on('spec.timeout', every) },
  { what: 'limits in bytes', spec: { url: github, limits: { fileSize: '65536', totalSize: '1000000' } } },
  {
    what: 'a limit of no unit known',
    spec: { url: github, limits: { fileSize: '4MB' } },
    refused: on('spec.limits.fileSize', quantity),
  },
  {
    what: 'a limit with a fraction',
    spec: { url: github, limits: { totalSize: '1.5Gi' } },
    refused: on('spec.limits.totalSize', quantity),
  },
  {
    what: 'a limit of nothing',
    spec: { url: github, limits: { totalSize: '0' } },
    refused: on('spec.limits.totalSize', quantity),
  },
  {
    what: 'a limit that is a number',
    spec: { url: github, limits: { fileSize: 65536 } },
    refused: on('spec.limits.fileSize'),
  },
  { what: 'no files', spec: { url: github, limits: { files: 0 } }, refused: on('spec.limits.files') },
  { what: 'too many files', spec: { url: github, limits: { files: 500_001 } }, refused: on('spec.limits.files') },
  { what: 'half a file', spec: { url: github, limits: { files: 1.5 } }, refused: on('spec.limits.files') },
  {
    what: 'a subdirectory from the root',
    spec: { url: github, subdirectory: '/packs' },
    refused: on('spec.subdirectory', folder),
  },
  {
    what: 'a subdirectory with a slash behind',
    spec: { url: github, subdirectory: 'packs/' },
    refused: on('spec.subdirectory', folder),
  },
  {
    what: 'a subdirectory outside',
    spec: { url: github, subdirectory: 'packs/../..' },
    refused: on('spec.subdirectory', folder),
  },
  {
    what: 'a subdirectory of one dot',
    spec: { url: github, subdirectory: '.' },
    refused: on('spec.subdirectory', folder),
  },
  {
    what: 'a subdirectory with a backslash',
    spec: { url: github, subdirectory: 'a\\b' },
    refused: on('spec.subdirectory', folder),
  },
  { what: 'a subdirectory of three dots', spec: { url: github, subdirectory: '...' } },
  { what: 'a subdirectory of one letter', spec: { url: github, subdirectory: 'p' } },
  {
    what: 'an empty glob',
    spec: { url: github, include: { skills: ['a', ''] } },
    refused: on('spec.include.skills[1]', glob),
  },
  {
    what: 'a glob from the root',
    spec: { url: github, include: { files: ['/shared/**'] } },
    refused: on('spec.include.files[0]', glob),
  },
  {
    what: 'a glob of prompts that leads out',
    spec: { url: github, include: { prompts: ['prompts/*', '../prompts/*'] } },
    refused: on('spec.include.prompts[1]', glob),
  },
  {
    what: 'a glob of rules that begins at a root',
    spec: { url: github, include: { rules: ['/rules/*'] } },
    refused: on('spec.include.rules[0]', glob),
  },
  {
    what: 'an empty glob of profiles',
    spec: { url: github, include: { profiles: [''] } },
    refused: on('spec.include.profiles[0]', glob),
  },
  {
    what: 'a glob that leads outside',
    spec: { url: github, exclude: ['../**'] },
    refused: on('spec.exclude[0]', glob),
  },
  {
    what: 'a glob that leads outside in the middle',
    spec: { url: github, exclude: ['a/../../b'] },
    refused: on('spec.exclude[0]', glob),
  },
  { what: 'a glob that is too long', spec: { url: github, exclude: [words(513)] }, refused: on('spec.exclude[0]') },
  { what: 'too many globs', spec: { url: github, exclude: Array(65).fill('x') }, refused: on('spec.exclude') },
  { what: 'globs that are no list', spec: { url: github, exclude: 'backups/**' }, refused: on('spec.exclude') },
  { what: 'a library in capitals', spec: { url: github, library: 'Bad' }, refused: on('spec.library', library) },
  {
    what: 'a library that begins with a hyphen',
    spec: { url: github, library: '-a' },
    refused: on('spec.library', library),
  },
  {
    what: 'a library that ends with a hyphen',
    spec: { url: github, library: 'a-' },
    refused: on('spec.library', library),
  },
  { what: 'a library with a dot', spec: { url: github, library: 'a.b' }, refused: on('spec.library', library) },
  { what: 'a library with a slash', spec: { url: github, library: 'a/b' }, refused: on('spec.library', library) },
  { what: 'an empty library', spec: { url: github, library: '' }, refused: on('spec.library', library) },
  { what: 'a library of 64 characters', spec: { url: github, library: words(64) } },
  { what: 'a library of 65 characters', spec: { url: github, library: words(65) }, refused: on('spec.library') },
  {
    what: 'a name with a dot and no library',
    name: 'acme.skills',
    spec: { url: github },
    refused: on('spec.library', /set spec\.library/),
  },
  { what: 'a name with a dot and a library', name: 'acme.skills', spec: { url: github, library: 'acme' } },
  {
    what: 'a name of 65 characters and no library',
    name: words(65),
    spec: { url: github },
    refused: on('spec.library', /set spec\.library/),
  },
  { what: 'two tags in one', spec: { url: github, tags: ['a,b'] }, refused: on('spec.tags[0]', oneWord) },
  { what: 'a tag with a blank', spec: { url: github, tags: ['a', 'a b'] }, refused: on('spec.tags[1]', oneWord) },
  { what: 'an empty tag', spec: { url: github, tags: [''] }, refused: on('spec.tags[0]', oneWord) },
  { what: 'a tag of 64 characters that JavaScript counts twice', spec: { url: github, tags: [words(64, '🦉')] } },
  { what: 'a tag of 65 such characters', spec: { url: github, tags: [words(65, '🦉')] }, refused: on('spec.tags[0]') },
  { what: 'a tag that is null', spec: { url: github, tags: [null] }, refused: on('spec.tags[0]') },
  { what: 'a webhook', spec: { url: github, webhook: { provider: 'GitHub', secretRef } } },
  {
    what: 'webhooks of a provider that is not known',
    spec: { url: github, webhook: { provider: 'Bitbucket', secretRef } },
    refused: on('spec.webhook.provider'),
  },
  {
    what: 'a webhook without a Secret',
    spec: { url: github, webhook: { provider: 'GitLab' } },
    refused: on('spec.webhook.secretRef'),
  },
  {
    what: 'a webhook without a provider',
    spec: { url: github, webhook: { secretRef } },
    refused: on('spec.webhook.provider'),
  },
  {
    what: 'a webhook whose Secret has a slash in its name',
    spec: { url: github, webhook: { provider: 'Gitea', secretRef: { name: 'team/hook' } } },
    refused: on('spec.webhook.secretRef.name', objectName),
  },
  { what: 'a webhook of a folder', spec: { url: 'file:///packs', webhook: { provider: 'Generic', secretRef } } },
  {
    what: 'a webhook of a ConfigMap',
    spec: { url: 'configmap://x', webhook: { provider: 'Generic', secretRef } },
    refused: on('spec.webhook', /a changed ConfigMap is noticed at once: remove it/),
  },
  { what: 'suspend as a word', spec: { url: github, suspend: 'yes' }, refused: on('spec.suspend') },
  {
    what: 'three faults at once',
    spec: { url: 'configmap://x', ref: 'main', refresh: '1s', tags: ['a,b'] },
    refused: [
      { field: 'spec.ref', remedy: gitOnly },
      { field: 'spec.refresh', remedy: every },
      { field: 'spec.tags[0]', remedy: oneWord },
    ],
  },
];

export const sourceCases: Case[] = [
  ...urls,
  ...sourceFields,
  {
    what: 'credentials in the URL',
    spec: { url: 'git+https://ann@example.com/x' },
    refused: [
      { field: 'spec.url', remedy: credentials },
      { field: 'spec.url', remedy: gitAddress },
    ],
  },
];
