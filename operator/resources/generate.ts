// `make generate`: writes the CustomResourceDefinitions into crds/, one file a kind.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crdFiles } from './crd-files.ts';

const folder = join(import.meta.dirname, '../../crds');
for (const [name, content] of crdFiles()) writeFileSync(join(folder, name), content);
