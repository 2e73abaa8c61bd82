// The operator killed at random while it publishes, readers checking every answer: nobody reads anything wrong, nothing is lost.
// KILLS=50 makes it shorter.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { readIndex } from '../../catalogue/index-reader.ts';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { configMapOf, listSkills, readSkill, skills, writeEdition } from './editions.ts';
import { type Outcome, type Proof, size } from './proof.ts';

/** The longest life of an operator after it has started, in milliseconds: long enough for a few publications. */
const longestLife = 600;
const readers = 4;

const ports = ['--probes-port', '0', '--metrics-port', '0'];

export const kills: Proof = {
  name: 'kills',
  says: '1,000 operators killed with SIGKILL while they publish, 0 bad reads, 0 lost catalogues',
  async run(progress): Promise<Outcome> {
    const wanted = size('KILLS', 1000);
    const api = await apiServer();
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-kills-'));
    const volume = join(folder, 'volume');
    const namespace = await api.namespace();
    const { kubeconfig } = await api.operatorAccount(namespace);
    const start = (): LyceumProcess =>
      new LyceumProcess([
        ...['operator', '--kubeconfig', kubeconfig, '--namespaces', namespace, '--volume', volume, ...ports],
      ]);
    const custom = (kind: string, name: string, spec: object): object => ({
      apiVersion: 'lyceum.dev/v1alpha1',
      kind,
      metadata: { namespace, name },
      spec,
    });
    const broken: string[] = [];
    let edition = 1;
    let reads = 0;
    let over = false;

    const objects = [
      configMapOf(namespace, edition),
      custom('SkillSource', 'editions', { url: 'configmap://editions' }),
      custom('SkillGateway', 'agents', {}),
    ];
    await api.kubectl(['apply', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));
    const first = start();
    const server = new LyceumProcess([
      ...['server', '--volume', volume, '--namespace', namespace, '--gateway', 'agents'],
      ...['--host', '127.0.0.1', '--port', '0', '--metrics-port', '0'],
    ]);
    const address = await eventually(
      'the server',
      () => server.log.find(({ msg }) => msg === 'server started')?.url as string | undefined,
    );
    const url = new URL('/mcp', address).href;
    await eventually('the first edition', () => listSkills(url));
    await first[Symbol.asyncDispose]();

    const writing = async (): Promise<void> => {
      while (!over) {
        try {
          await writeEdition(api, namespace, edition + 1);
          edition += 1;
        } catch (error) {
          broken.push(`an edition was not written: ${wordsOf(error)}`);
        }
        await pause(50);
      }
    };
    const reading = async (): Promise<void> => {
      let seen = 0;
      for (let turn = 0; !over; turn++) {
        try {
          const found = await (turn % 10 === 0 ? listSkills(url) : readSkill(url, skills[turn % skills.length]!));
          reads += 1;
          if (found < seen) broken.push(`edition ${found} was read after edition ${seen}`);
          if (found > edition + 1) broken.push(`edition ${found} was read, which nobody has written`);
          seen = found;
        } catch (error) {
          broken.push(`a read failed: ${wordsOf(error)}`);
          await pause(100);
        }
        await pause(5);
      }
    };
    const running = Promise.all([writing(), ...Array.from({ length: readers }, reading)]);
    let published = 0;
    let lost = 0;
    const generation = async (known: number): Promise<number> => {
      try {
        return (await readIndex(volume, namespace, 'agents')).generation;
      } catch (error) {
        lost += 1;
        broken.push(`index.json cannot be read: ${wordsOf(error)}`);
        return known;
      }
    };
    try {
      let before = await generation(0);
      for (let kill = 1; kill <= wanted; kill++) {
        await using operator = start();
        await eventually('the operator has started', () => {
          if (!operator.running) throw new Error(operator.said);
          return operator.log.some(({ msg }) => msg === 'operator started');
        });
        await pause(Math.random() * longestLife);
        operator.kill('SIGKILL');
        await operator.ended();
        const after = await generation(before);
        if (after < before) broken.push(`generation ${after} after generation ${before}`);
        published += after - before;
        before = after;
        if (kill % 50 === 0) progress(`${kill} kills, ${reads} reads, ${published} publications, ${broken.length} bad`);
      }
      if (published < wanted / 2) broken.push(`${published} publications: most operators died before they published`);
      over = true;
      await running;
      await using last = start();
      const served = await eventually(
        `edition ${edition}`,
        () => listSkills(url),
        (one) => one === edition,
        60,
      ).catch((error: Error) => error.message);
      if (served !== edition) broken.push(`the last edition is not served: ${served}; ${last.said.slice(-500)}`);
    } finally {
      over = true;
      await running.catch((error: unknown) => broken.push(String(error)));
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }
    return {
      figures: { kills: wanted, reads, publications: published, faults: broken.length, 'lost catalogues': lost },
      broken,
    };
  },
};

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
