// Skills of which each text says which edition of all of them it is: whoever reads a mix, or something else, sees it.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import type { ApiServer } from '../cluster/api-server.ts';

export const skills = Array.from({ length: 20 }, (_, at) => `skill-${at}`);

const descriptionOf = (edition: number): string => `Edition ${edition}.`;

/** The whole SKILL.md. */
export function textOf(skill: string, edition: number): string {
  const filler = createHash('sha256').update(`${skill} ${edition}`).digest('hex').repeat(20);
  return `---\nname: ${skill}\ndescription: ${descriptionOf(edition)}\n---\n${filler}\n`;
}

export const configMapOf = (namespace: string, edition: number): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name: 'editions' },
  data: Object.fromEntries(skills.map((skill) => [`skills__${skill}__SKILL.md`, textOf(skill, edition)])),
});

/** @throws Error where the API server does not take it */
export async function writeEdition(api: ApiServer, namespace: string, edition: number): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps/editions`;
  const { status } = await api.request('PUT', path, configMapOf(namespace, edition));
  if (status !== 200) throw new Error(`edition ${edition}: the API server answered ${status}`);
}

/** Writes one edition after the other, until it is stopped. */
export class EditionWriter {
  readonly #writing: Promise<void>;
  #over = false;
  /** The last edition that it has begun to write. */
  begun: number;

  /**
   * @param broken what did not hold is put here
   * @param written the edition that stands
   */
  constructor(stage: { api: ApiServer; namespace: string }, broken: string[], written = 1) {
    this.begun = written;
    this.#writing = this.#write(stage, broken);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#writing;
  }

  async #write({ api, namespace }: { api: ApiServer; namespace: string }, broken: string[]): Promise<void> {
    while (!this.#over) {
      const next = this.begun + 1;
      this.begun = next;
      await writeEdition(api, namespace, next).catch((error: Error) =>
        broken.push(`an edition was not written: ${error.message}`),
      );
      await pause(50);
    }
  }
}

async function ask(url: string, method: string, params: object): Promise<Record<string, never>> {
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const body = (await answer.body.json()) as { result?: Record<string, never> };
  if (answer.statusCode !== 200 || body.result === undefined) {
    throw new Error(`${method}: status ${answer.statusCode}, ${JSON.stringify(body).slice(0, 300)}`);
  }
  return body.result;
}

const editionIn = (text: string): number => Number(/Edition (\d+)\./.exec(text)?.[1]);

/** Reads one skill whole. @returns its edition @throws Error where it is not that edition's text, byte for byte */
export async function readSkill(url: string, skill: string): Promise<number> {
  const { contents } = await ask(url, 'resources/read', { uri: `skill://editions/${skill}` });
  const [{ text }] = contents as unknown as [{ text: string }];
  const edition = editionIn(text);
  if (text !== textOf(skill, edition)) throw new Error(`${skill}: no text of edition ${edition}`);
  return edition;
}

/** Lists all skills. @returns the edition that all of them have @throws Error where one is missing, or of another edition */
export async function listSkills(url: string): Promise<number> {
  const { resources } = await ask(`${url}?skills=full`, 'resources/list', {});
  const rows = (resources as unknown as { uri: string; description?: string }[]).filter(({ uri }) =>
    /^skill:\/\/editions\/skill-\d+\/SKILL\.md$/.test(uri),
  );
  if (rows.length !== skills.length) throw new Error(`${rows.length} of ${skills.length} skills are listed`);
  const editions = new Set(rows.map(({ description }) => editionIn(description ?? '')));
  if (editions.size !== 1) throw new Error(`a mix of the editions ${[...editions].join(', ')}`);
  return [...editions][0]!;
}
