// Long loops give the event loop back in time.
import { setImmediate as nextTurn } from 'node:timers/promises';

const longestTurn = 8;

/** Called once a step of a long loop: answers undefined at once, or a promise to await when the turn has lasted too long. */
export type Pace = () => Promise<void> | undefined;

/**
 * A pace that yields every 8 ms and stops with the signal's reason once it is aborted.
 * @throws the signal's reason, from the promise
 */
export function newPace(signal?: AbortSignal): Pace {
  let began = performance.now();
  const turn = async (): Promise<void> => {
    await nextTurn();
    signal?.throwIfAborted();
    began = performance.now();
  };
  return () => (performance.now() - began < longestTurn ? undefined : turn());
}
