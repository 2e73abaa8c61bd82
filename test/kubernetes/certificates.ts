// Certificates for test servers on 127.0.0.1, each made by an authority of its own, with openssl.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Certificate {
  key: Buffer;
  /** Signed by itself, so its own authority too. */
  cert: Buffer;
}

/**
 * @param folder where the files are written
 * @param name of the files
 * @param host whom it is made out to, besides 127.0.0.1
 */
export async function certificate(folder: string, name: string, host?: string): Promise<Certificate> {
  const key = join(folder, `${name}.key`);
  const cert = join(folder, `${name}.crt`);
  const names = ['IP:127.0.0.1', ...(host === undefined ? [] : [`DNS:${host}`])].join(',');
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  await run('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert]);
  return { key: await readFile(key), cert: await readFile(cert) };
}
