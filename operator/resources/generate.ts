// `make generate`: writes the CustomResourceDefinitions into crds/, one file a kind, and the chart's copies.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartFiles, crdFiles } from './crd-files.ts';

const repository = join(import.meta.dirname, '../..');
const write = (folder: string, files: Map<string, string>): void => {
  for (const [name, content] of files) writeFileSync(join(repository, folder, name), content);
};
write('crds', crdFiles());
write('charts/lyceum', chartFiles());
