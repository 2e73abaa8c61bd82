// From spec.url and spec.region to where a bucket is, and from keys to what is asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listingUrl, objectUrl, s3Address, serverOf } from '../../../upstream/s3/address.ts';

const places: [url: string, region: string | undefined, at: string, prefix: string][] = [
  ['s3://openkata-artifacts', undefined, 'https://openkata-artifacts.s3.us-east-1.amazonaws.com/', ''],
  ['s3://openkata-artifacts/', 'eu-central-1', 'https://openkata-artifacts.s3.eu-central-1.amazonaws.com/', ''],
  ['s3://skills/packs/team a', 'cn-north-1', 'https://skills.s3.cn-north-1.amazonaws.com.cn/', 'packs/team a/'],
  ['s3://skills.example.com/x/', 'eu-west-1', 'https://s3.eu-west-1.amazonaws.com/skills.example.com/', 'x/'],
  ['s3+https://minio.example.com/skills', undefined, 'https://minio.example.com/skills/', ''],
  [
    's3+http://minio.minio.svc:9000/skills/a%20b/%2525/gr%C3%B6%C3%9Fe/',
    'auto',
    'http://minio.minio.svc:9000/skills/',
    'a b/%25/größe/',
  ],
  ['s3+http://[fd00::1]:9000/Old_Bucket/p', undefined, 'http://[fd00::1]:9000/Old_Bucket/', 'p/'],
];

for (const [url, region, at, prefix] of places) {
  test(`${url} is at ${at}`, () => {
    const address = s3Address(url, region);
    assert(address.ok);
    assert.deepEqual([address.url.href, address.prefix, address.region], [at, prefix, region ?? 'us-east-1']);
  });
}

for (const url of [
  'https://bucket/x',
  's3://',
  's3:///x',
  's3+https://minio.example.com',
  's3+https://minio.example.com/',
  's3+https:///bucket',
  's3+https://minio.example.com/../x',
  's3://bucket/a//b',
  's3://bucket/../b',
  's3://bucket/%2e%2E/b',
  's3://bucket/a%2Fb',
  's3://bucket/a%5Cb',
  's3://bucket/a%0Ab',
  's3://bucket/%ff',
  's3://bucket/%zz',
  's3://bucket/a?versionId=canary',
  's3://bucket/a#canary',
  's3://canary:canary@bucket/a',
]) {
  test(`${url} is refused, and not repeated`, () => {
    const address = s3Address(url);
    assert(!address.ok);
    assert.doesNotMatch(address.message, /canary/);
  });
}

test('whatever stands in a key is escaped', () => {
  const bucket = new URL('http://h/bucket/');
  assert.equal(
    objectUrl(bucket, "a b/+%25/(it's)!*/größe&?#.md").href,
    'http://h/bucket/a%20b/%2B%2525/%28it%27s%29%21%2A/gr%C3%B6%C3%9Fe%26%3F%23.md',
  );
  assert.equal(
    listingUrl(bucket, { prefix: "a/b+c d'(1)/" }).href,
    'http://h/bucket?prefix=a%2Fb%2Bc%20d%27%281%29%2F',
  );
  assert.equal(listingUrl(new URL('https://b.example.com/'), { prefix: '' }).href, 'https://b.example.com/?prefix=');
});

test('messages call the server by its host, without the bucket', () => {
  const named = (url: string): string => {
    const address = s3Address(url);
    assert(address.ok);
    return serverOf(address);
  };
  assert.equal(named('s3://skills'), 's3.us-east-1.amazonaws.com');
  assert.equal(named('s3://skills.example.com'), 's3.us-east-1.amazonaws.com');
  assert.equal(named('s3+http://skills.example.com:9000/skills'), 'skills.example.com:9000');
});
