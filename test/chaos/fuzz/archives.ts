// Archives that others have packed, as git makes them of a repository: tar, gzipped tar, zip.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ArchiveFault } from '../../../upstream/archive-fault.ts';
import { listArchive, readArchive } from '../../../upstream/discovery/archive.ts';
import { gathering, readTar } from '../../../upstream/tar.ts';
import { GitFixture, gitEnvironment } from '../../fixtures/git-repository.ts';
import { skillText } from '../../fixtures/operator.ts';
import { tarOf } from '../../fixtures/tar.ts';
import { inPieces, orFault, type Prepared, type Target } from './target.ts';

const run = promisify(execFile);

export const archives: Target = {
  name: 'archives',
  dictionary: [
    'ustar\0',
    'ustar  \0',
    'PK\x03\x04',
    'PK\x01\x02',
    'PK\x05\x06',
    'PK\x06\x06',
    '\x1f\x8b\x08',
    '../',
    '/etc/passwd',
    '0000777',
    '77777777777',
    '30 path=x\n',
    '\0'.repeat(512),
    '././@LongLink',
    '\xff\xff\xff\xff',
  ],
  async prepare(folder): Promise<Prepared> {
    const repo = await GitFixture.create(join(folder, 'pack.git'));
    const longName = `${'long/'.repeat(30)}name.md`;
    await repo.commitFiles({
      'skills/one/SKILL.md': skillText('one'),
      'skills/two/link': { link: '../one' },
      [longName]: 'x',
    });
    const made = async (format: string): Promise<Buffer> => {
      const options = { cwd: repo.folder, env: gitEnvironment, encoding: 'buffer' as const, maxBuffer: 2 ** 24 };
      return (await run('git', ['archive', `--format=${format}`, 'refs/heads/main'], options)).stdout;
    };
    const bounds = { bytes: 4 * 2 ** 20, entries: 1_000, signal: new AbortController().signal };
    const file = join(folder, 'archive');
    const whole = async (archive: Buffer): Promise<void> => {
      await writeFile(file, archive);
      await orFault([ArchiveFault], async () => {
        const { files } = await listArchive(file, bounds);
        await readArchive(file, new Set(files.map(({ path }) => path)), bounds, async () => {});
      });
    };
    const small = tarOf([{ name: 'one/SKILL.md', content: skillText('one') }]);
    return {
      seeds: [await made('tar'), gunzipSync(await made('tar.gz')), await made('zip'), await made('tar.gz'), small],
      async feed(input) {
        await orFault([ArchiveFault], async () => {
          for await (const { entry } of readTar(inPieces(input), bounds, gathering)) void entry.path;
        });
        await whole(input);
        await whole(gzipSync(input, { level: 1 }));
      },
    };
  },
};
