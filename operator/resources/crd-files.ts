// The files of crds/ as they must be: their names and their text.
import { stringify } from 'yaml';
import { crdOf, group, kinds } from './crd.ts';

export function crdFiles(): Map<string, string> {
  const files = kinds.map((kind): [string, string] => {
    const { definition } = crdOf(kind);
    const { plural } = (definition.spec as { names: { plural: string } }).names;
    const head = '# Made by `make generate` from operator/resources. Change it there.\n';
    return [`${group}_${plural}.yaml`, head + stringify(definition, { lineWidth: 120, aliasDuplicateObjects: false })];
  });
  return new Map(files);
}
