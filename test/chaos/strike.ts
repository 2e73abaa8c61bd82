// Loaded into an operator before its own program: its disk gets a fault right before one of its writes, the one that it was told.
import { renameSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { filesWithSteps } from '../volume/steps.ts';
import { FaultyDisk } from './faulty-disk.ts';
import { type Order, orderIn, orderPath, struckPath } from './strikes.ts';

const folder = process.env.CHAOS_DISK!;
const disk = new FaultyDisk(folder);
let known: string | undefined;
/** Writes that the order has seen. */
let step = 0;

function before({ path }: { path: string }): void {
  if (!path.startsWith(disk.path)) return;
  try {
    const order = orderIn(folder);
    if (order === undefined) return;
    step = order.id === known ? step + 1 : 1;
    known = order.id;
    if (step === order.at) carryOut(order);
  } catch (error) {
    console.error(error);
    process.exit(70);
  }
}

function carryOut({ fault }: Order): void {
  disk.strike(fault);
  try {
    renameSync(orderPath(folder), struckPath(folder));
  } catch {
    // It was withdrawn meanwhile.
    disk.lift(fault);
  }
}

const { mkdir, open, rename, rm } = filesWithSteps(before);
Object.assign(files, { mkdir, open, rename, rm });
syncBuiltinESMExports();
