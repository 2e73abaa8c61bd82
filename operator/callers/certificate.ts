// The certificate that callers see: two files of a folder, read anew while the operator runs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { type Clock, sleep } from '../clock.ts';

export interface Certificate {
  cert: Buffer;
  key: Buffer;
}

/** How soon a certificate that was put in the place of another one is used, in milliseconds. */
const lookEveryMilliseconds = 10_000;

/**
 * `tls.crt`, with the authorities in between behind it, and `tls.key`, both in PEM, as in a Secret of type kubernetes.io/tls.
 * @throws Error with the file and what to do
 */
export async function readCertificate(folder: string): Promise<Certificate> {
  const [cert, key] = await Promise.all([read(folder, 'tls.crt'), read(folder, 'tls.key')]);
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new Error(`${folder}: tls.crt and tls.key are no certificate and its private key, both in PEM`);
  }
  return { cert, key };
}

/** Tells of every other certificate until the signal aborts. One that cannot be used is told in the log, once. */
export async function followCertificate(
  folder: string,
  known: Certificate,
  { clock, log, signal, changed }: { clock: Clock; log: Logger; signal: AbortSignal; changed(now: Certificate): void },
): Promise<void> {
  let current = known;
  let fault: string | undefined;
  for (;;) {
    await sleep(clock, lookEveryMilliseconds, signal);
    if (signal.aborted) return;
    try {
      const now = await readCertificate(folder);
      fault = undefined;
      if (now.cert.equals(current.cert) && now.key.equals(current.key)) continue;
      current = now;
      changed(now);
      log.info('another certificate is used for callers');
    } catch (error) {
      const why = error instanceof Error ? error.message : 'unknown';
      if (why !== fault)
        log.warn({ why }, 'the certificate for callers cannot be read anew; the one before is used on');
      fault = why;
    }
  }
}

async function read(folder: string, name: string): Promise<Buffer> {
  try {
    return await readFile(join(folder, name));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new Error(`${join(folder, name)} cannot be read (${code}): the folder must have tls.crt and tls.key`);
  }
}
