// Every proof, in the order in which they are run.
import { apiServer } from './api-server.ts';
import { canary } from './canary.ts';
import { disk } from './disk.ts';
import { fuzz } from './fuzz.ts';
import { kills } from './kills.ts';
import type { Proof } from './proof.ts';
import { rbac } from './rbac.ts';
import { rolling } from './rolling.ts';
import { scale } from './scale.ts';
import { sources } from './sources.ts';
import { twoOperators } from './two-operators.ts';

export const proofs: readonly Proof[] = [
  kills,
  apiServer,
  twoOperators,
  rolling,
  sources,
  rbac,
  canary,
  scale,
  disk,
  fuzz,
];
