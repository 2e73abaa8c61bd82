// Waits for what must come true soon, and says what did not.

/** @param what named in the error @throws when it has not come true within five seconds */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`did not come true within 5 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
