// Proofs of what Lyceum survives, each a program that breaks something on purpose while readers check every answer.
//   node test/chaos/run.ts          every proof, one after the other
//   node test/chaos/run.ts kills    one of them
// A run in its full size that holds writes what it found to results/<proof>.json, and into docs/reliability.md;
// with KEEP=no it does not.
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { figuresOf, type Result, results, writePage } from './page.ts';
import { changed } from './proof.ts';
import { proofs } from './proofs.ts';

const asked = process.argv.slice(2);
const names = proofs.map(({ name }) => name);
const unknown = asked.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`no proof is called ${unknown.join(', ')}: there are ${names.join(', ')}`);
  process.exit(2);
}

const rows: string[][] = [];
for (const proof of proofs.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  console.log(`${proof.name}: ${proof.says}`);
  changed.length = 0;
  const began = performance.now();
  const { figures, broken } = await proof
    .run((progress) => console.log(`  ${progress}`))
    .catch((error: Error) => ({ figures: {}, broken: [error.stack ?? error.message] }));
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  rows.push([proof.name, broken.length === 0 ? 'holds' : 'BROKEN', `${seconds} s`, figuresOf(figures)]);
  for (const one of broken.slice(0, 20)) console.error(`  ${one}`);
  if (broken.length > 0) process.exitCode = 1;
  if (changed.length === 0 && broken.length === 0 && process.env.KEEP !== 'no') {
    const result: Result = {
      proof: proof.name,
      bar: proof.says,
      holds: true,
      figures,
      seconds: Number(seconds),
      node: process.version,
      processors: availableParallelism(),
    };
    await mkdir(results, { recursive: true });
    await writeFile(join(results, `${proof.name}.json`), `${JSON.stringify(result, null, 2)}\n`);
    await writePage();
  }
}
const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
for (const row of rows) console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   '));
