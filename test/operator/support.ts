// What tests of one source under a whole operator share: the source is called handbook, the gateway agents.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { eventually } from '../fixtures/eventually.ts';
import { type OperatorFixture, skillText } from '../fixtures/operator.ts';

export const succeeded = 'True/Succeeded';

/** @param condition status and reason: `False/Unreachable` */
export const ready = (operator: OperatorFixture, condition: string, source = 'handbook') =>
  eventually(
    condition,
    () => operator.cluster.condition('sources', source, 'Ready'),
    (one) => one === condition,
  );

/** Ready, published, and told by the gateway. */
export async function served(operator: OperatorFixture, skills: number): Promise<void> {
  await ready(operator, succeeded);
  await eventually(
    'the gateway serves it',
    () => operator.cluster.status('gateways', 'agents')?.catalogue?.skills,
    (count) => count === skills,
  );
}

/** A page for people, where a protocol's answer is wanted. @returns true: the request is answered */
export function signInPage(response: ServerResponse): true {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>canary</html>');
  return true;
}

/**
 * The skill loki stays served as it was, and stale, while a look fails; the source recovers by itself.
 * @param fault `turn` makes the server fail, `look` asks for a look, `mend` makes it well again
 */
export async function assertLastGoodStays(
  operator: OperatorFixture,
  fault: { reason: string; turn(): void | Promise<void>; look(): void; mend(): void | Promise<void> },
): Promise<void> {
  await served(operator, 1);
  const before = operator.cluster.status('sources', 'handbook').artifact;
  await fault.turn();
  fault.look();
  await ready(operator, `False/${fault.reason}`);
  await eventually(
    'the gateway says that it is stale',
    async () => (await operator.index()).sources[0]?.state,
    (state) => state === 'stale',
  );
  assert.equal((await operator.read('handbook', 'loki')).toString(), skillText('loki'));
  assert.deepEqual(operator.cluster.status('sources', 'handbook').artifact, before);
  await fault.mend();
  await ready(operator, succeeded);
}
