// What a gateway is told about in events: turning bad, and being well again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOf, standingEvent } from '../../operator/gateway/gateway-events.ts';

type Ready = Parameters<typeof standingEvent>[1];
const bad = (reason: string): Ready => ({ status: 'False', reason, message: `about ${reason}` });
const starting: Ready = { status: 'Unknown', reason: 'Progressing', message: 'Pods start' };
const well: Ready = { status: 'True', reason: 'Succeeded', message: 'All is well' };

/** The events of looks that find a gateway so, one after another. */
function told(...looks: Ready[]): string[] {
  let fault: string | undefined;
  return looks.flatMap((ready) => {
    const next = standingEvent(fault, ready);
    fault = next.fault;
    return next.event === undefined ? [] : [`${next.event.type} ${next.event.reason}: ${next.event.note}`];
  });
}

test('a gateway that was never bad has no events', () => {
  assert.deepEqual(told(undefined, starting, well, starting, well), []);
});

test('a gateway that turns bad has one Warning however often it is looked at, and one Normal when it is well again', () => {
  assert.deepEqual(told(bad('SecretNotFound'), bad('SecretNotFound'), starting, well, well), [
    'Warning SecretNotFound: about SecretNotFound',
    'Normal Succeeded: All is well',
  ]);
});

test('a gateway that turns bad in another way has another Warning; one that swings back and forth has no more', () => {
  assert.deepEqual(told(bad('SecretNotFound'), bad('RolloutFailed'), starting, bad('RolloutFailed')), [
    'Warning SecretNotFound: about SecretNotFound',
    'Warning RolloutFailed: about RolloutFailed',
  ]);
});

test('an operator that starts finds in the status what was told', () => {
  assert.deepEqual([bad('RolloutFailed'), starting, well, undefined].map(faultOf), [
    'RolloutFailed',
    undefined,
    undefined,
    undefined,
  ]);
});
