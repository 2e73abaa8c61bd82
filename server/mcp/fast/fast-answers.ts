// The fast way: answers to ordinary questions from bytes that were serialized once. The SDK answers everything else, every
// error among it, and its answers are what these must equal.
import { SERVER_INFO_META_KEY } from '@modelcontextprotocol/server';
import type { Touched } from '../../answers/read.ts';
import type { Choices } from '../../choices.ts';
import { isLive, type View } from '../../view.ts';
import type { Answer, WholeAnswer } from '../answer.ts';
import type { RequestContext } from '../method.ts';
import { methods } from '../methods.ts';
import { finished, serverInfo } from '../server-factory.ts';
import { Envelopes } from './envelopes.ts';
import { KeptAnswers } from './kept-answers.ts';
import type { Question } from './question.ts';

interface Kept {
  /** The message in UTF-8 from behind its id; undefined for a notification, which gets none. */
  rest: Buffer | undefined;
  bytes: number;
  touched: Touched | undefined;
}

/** What all kept answers take, in bytes. */
const mostKept = 32 * 2 ** 20;
/** A page of a list is below it; of larger files there are few, and what they cost is not the envelope around them. */
const longestKept = 512 * 1024;

const looksUp = new Map(methods.filter(({ cacheable }) => cacheable).map((method) => [method.name, method]));

/** What the SDK answers by itself, alike for everybody with one view. */
const ofTheProtocol: ReadonlySet<string> = new Set([
  'server/discover',
  'initialize',
  'notifications/initialized',
  'ping',
]);

export class FastAnswers {
  readonly #version: string;
  readonly #kept = new KeptAnswers<Kept>(mostKept, longestKept);
  readonly #envelopes = new Envelopes();
  readonly #views = new WeakMap<View, number>();
  #lastView = 0;
  /** How the keys begin of what is asked with these choices. */
  readonly #beginnings = new WeakMap<Choices, { view: View; text: string }>();

  constructor(version: string) {
    this.#version = version;
  }

  /** The answer that is kept to such a question, without a wait. */
  kept(question: Question, context: RequestContext): Answer | undefined {
    if (!this.#isAccepted(question)) return undefined;
    const kept = this.#kept.get(this.#keyOf(question, context));
    if (kept === undefined || (kept.rest === undefined) !== (question.id === undefined)) return undefined;
    if (kept.touched !== undefined) context.read(kept.touched);
    return answerOf(question, kept.rest);
  }

  /** An answer made from the method's own result; undefined where it has none, so that the SDK says why. */
  async made(question: Question, context: RequestContext): Promise<Answer | undefined> {
    const method = looksUp.get(question.method);
    if (method === undefined || question.id === undefined || !this.#isAccepted(question)) return undefined;
    const { cursor, uri } = question;
    const params = method.params.safeParse({
      ...(cursor === undefined ? {} : { cursor }),
      ...(uri === undefined ? {} : { uri }),
    });
    if (!params.success) return undefined;
    let touched: Touched | undefined;
    try {
      const result = await method.answer(params.data as never, { ...context, read: (target) => (touched = target) });
      const rest = restOf(this.#onTheWire(finished(result, method, context), context));
      if (touched !== undefined) context.read(touched);
      this.#keep(question, context, { rest, bytes: rest.length, touched });
      return answerOf(question, rest);
    } catch {
      return undefined;
    }
  }

  /** Takes in what the SDK answered to a question: that its envelope may pass, and the answer where it is the SDK's own. */
  learn(question: Question, context: RequestContext, { status, body }: WholeAnswer): void {
    if (question.envelope !== undefined && status === 200) this.#envelopes.add(question.envelope);
    if (!ofTheProtocol.has(question.method)) return;
    if (question.id === undefined && status === 202) {
      this.#keep(question, context, { rest: undefined, bytes: 0, touched: undefined });
    } else if (status === 200 && body !== undefined) {
      const { result } = JSON.parse(body) as { result?: unknown };
      if (result === undefined) return;
      const rest = restOf(result);
      this.#keep(question, context, { rest, bytes: rest.length, touched: undefined });
    }
  }

  #isAccepted({ envelope }: Question): boolean {
    return envelope === undefined || this.#envelopes.has(envelope);
  }

  /** What the SDK adds to every result of the modern era. */
  #onTheWire(result: object, { era }: RequestContext): object {
    if (era === 'legacy') return result;
    return { ...result, resultType: 'complete', _meta: { [SERVER_INFO_META_KEY]: serverInfo(this.#version) } };
  }

  /** Nothing is kept that a live source may have changed by the next request, and nothing that nobody can see. */
  #keep(question: Question, context: RequestContext, kept: Kept): void {
    const { view } = context;
    if (isLive(view) || view.libraries.size === 0) return;
    this.#kept.set(this.#keyOf(question, context), kept);
  }

  #keyOf({ key }: Question, { view, choices }: RequestContext): string {
    let beginning = this.#beginnings.get(choices);
    if (beginning?.view !== view) {
      beginning = { view, text: `${this.#numberOf(view)} ${Object.values(choices).join()} ` };
      this.#beginnings.set(choices, beginning);
    }
    return beginning.text + key;
  }

  #numberOf(view: View): number {
    const number = this.#views.get(view) ?? ++this.#lastView;
    this.#views.set(view, number);
    return number;
  }
}

const restOf = (result: unknown): Buffer => Buffer.from(`,"result":${JSON.stringify(result)}}`);

const answerOf = ({ id }: Question, rest: Buffer | undefined): Answer =>
  rest === undefined ? { status: 202 } : { head: `{"jsonrpc":"2.0","id":${JSON.stringify(id)}`, rest };
