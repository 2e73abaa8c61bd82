// Clean shutdown: the first SIGTERM or SIGINT asks for it, the second ends the process at once.

/** Milliseconds after which a stop that does not come to its end, on a volume that hangs for example, is one all the same. */
const longestStop = 40_000;

/** Aborts at the first SIGTERM or SIGINT. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort();
    setTimeout(() => process.exit(1), longestStop).unref();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return controller.signal;
}

/** Resolves when the signal aborts. */
export function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
