// Buckets as a source: their listing is the probe, and only objects are read of which it says something else than before.
import { UpstreamFault } from '../../upstream/fault.ts';
import type { GuardedClient } from '../../upstream/guard/client.ts';
import { type BucketAddress, s3Address } from '../../upstream/s3/address.ts';
import { Bucket } from '../../upstream/s3/bucket.ts';
import { bucketCredentials } from '../../upstream/s3/credentials.ts';
import { signatureOf } from '../../upstream/s3/signature.ts';
import { SourceFault } from '../reasons.ts';
import type { SkillSourceSpec } from '../resources/skill-source.ts';
import type { LookContext } from './backend.ts';
import { printable } from './path.ts';
import { hasBeenSeen, seen } from './s3/memory.ts';
import { type BucketFiles, filesOf } from './s3/objects.ts';
import type { Source, Tree } from './source.ts';
import { WantedFiles } from './wanted-files.ts';

/**
 * @param spec `spec.url` with an S3 scheme; nothing but its `subdirectory` is listed
 * @param guard the installation's client; it stays open
 * @throws SourceFault InvalidSpec for the URL, SecretNotFound for keys that are missing; UpstreamFault TLSFailed for `ca.crt`
 */
export function openS3Source(
  { url, region, subdirectory }: Pick<SkillSourceSpec, 'url' | 'region' | 'subdirectory'>,
  context: LookContext,
  guard: GuardedClient,
): Source {
  const address = s3Address(url, region);
  if (!address.ok) throw new SourceFault('InvalidSpec', address.message);
  const credentials = bucketCredentials(context.secret);
  if (!credentials.ok) {
    throw new SourceFault('SecretNotFound', `the Secret of spec.secretRef lacks ${credentials.missing}`);
  }
  const own = credentials.ca === undefined ? undefined : guard.withCa(credentials.ca);
  const { keys } = credentials;
  const bucket = new Bucket({
    address,
    client: own ?? guard,
    signature: keys && signatureOf(address, keys),
    received: context.received,
  });
  const look = new S3Look(bucket, address, subdirectory, context);
  return { probe: () => look.probe(), open: () => look.open(), close: async () => own?.close() };
}

class S3Look {
  readonly #bucket: Bucket;
  readonly #address: BucketAddress;
  readonly #subdirectory: string;
  readonly #context: LookContext;
  /** What the probe listed, for the first tree. */
  #probed: BucketFiles | undefined;

  constructor(bucket: Bucket, address: BucketAddress, subdirectory: string, context: LookContext) {
    this.#bucket = bucket;
    this.#address = address;
    this.#subdirectory = subdirectory;
    this.#context = context;
  }

  async probe(): Promise<string> {
    this.#probed = await this.#list();
    return this.#probed.revision;
  }

  async open(): Promise<Tree> {
    const { revision, entries, objects, problems, isThere } = this.#probed ?? (await this.#list());
    this.#probed = undefined;
    await this.#assertThere(isThere);
    const { limits } = this.#context;
    const files = new WantedFiles(this.#context);
    return {
      revision,
      entries,
      ...(this.#subdirectory === '' ? {} : { hasSubdirectory: true }),
      problems,
      read: (wanted, sink) =>
        files.read(wanted, sink, ({ path }, signal) =>
          this.#bucket.read(objects.get(path)!, `"${printable(path)}"`, limits.fileSize, signal),
        ),
      close: async () => {},
    };
  }

  /** What every key of the source begins with. */
  get #start(): string {
    const { prefix } = this.#address;
    return this.#subdirectory === '' ? prefix : `${prefix}${this.#subdirectory}/`;
  }

  async #list(): Promise<BucketFiles> {
    const { signal } = this.#context;
    return await filesOf(await this.#bucket.list(this.#start, signal), this.#address, signal);
  }

  /**
   * A bucket has no folders: one without objects is one whose name is mistaken, unless there has been something before.
   * @throws UpstreamFault NotFound
   */
  async #assertThere(isThere: boolean): Promise<void> {
    const { memory } = this.#context;
    const place = `${this.#address.url.href}${this.#start}`;
    if (this.#start === '' || (await hasBeenSeen(memory, place))) return;
    if (isThere) return await memory.save(seen(place));
    throw new UpstreamFault(
      'NotFound',
      `the bucket "${this.#address.bucket}" has nothing below "${printable(this.#start)}"; check spec.url and spec.subdirectory, or put something there`,
    );
  }
}
