// Time as the operator's loops see it: given from outside, so that a rule about minutes is tested in milliseconds.

export interface Clock {
  /** Milliseconds since the epoch; never goes back. */
  now(): number;
  /** Calls once after so many milliseconds, however many; the function it gives forgets the call. */
  after(milliseconds: number, call: () => void): () => void;
}

/** What setTimeout can wait at most; with more it would fire at once. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after(milliseconds, call) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      timer = setTimeout(() => (left > longestTimer ? arm(left - longestTimer) : call()), Math.min(left, longestTimer));
    };
    arm(milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Resolves after so many milliseconds, or as soon as the signal aborts. Never rejects. */
export function sleep(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      forget();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const forget = clock.after(milliseconds, end);
    signal.addEventListener('abort', end, { once: true });
  });
}
