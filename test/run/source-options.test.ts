// What every command that fetches sources is told of them.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { sourceOptions } from '../../cli/source-options.ts';

const flags = { maxFiles: 1, maxFileSize: 1, maxTotalSize: 1 };

test('a file of authorities that cannot be used is told with its option', async () => {
  const missing = join(import.meta.dirname, 'nowhere.crt');
  const other = import.meta.filename;
  const refused = (extraCaFile: string) => sourceOptions({ ...flags, extraCaFile }, undefined, {});
  await assert.rejects(refused(missing), { message: `--extra-ca-file: ${missing} cannot be read (ENOENT)` });
  await assert.rejects(refused(other), { message: /^--extra-ca-file: .* holds no certificate in PEM form/ });
});
