// The end of a look that takes too long, as a fault that names the field.
import { UpstreamFault } from '../../upstream/fault.ts';
import { parseDuration } from '../resources/quantities.ts';

/** A signal that aborts after `spec.timeout`, with an UpstreamFault TimedOut as its reason. Dispose it when done. */
export function deadlineOf(timeout: string): { signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const fault = new UpstreamFault(
    'TimedOut',
    `the look took longer than spec.timeout (${timeout}); raise it, or narrow spec.include`,
  );
  const timer = setTimeout(() => controller.abort(fault), parseDuration(timeout) * 1000);
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}
