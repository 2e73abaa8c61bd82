// Loaded into a measured `lyceum server`, beside the program: tells its memory and processor time, ends with its parent.
import { answerQuestions } from '../answering.ts';

export interface Usage {
  /** Bytes in use after a full collection: objects and buffers. */
  heldBytes: number;
  /** Bytes that the system has given to the process. */
  residentBytes: number;
  /** Microseconds of processor time since the start. */
  processorMicroseconds: number;
}

export type UsageQuestion = 'processor' | 'memory';

answerQuestions<UsageQuestion>((question) => {
  if (question === 'memory') {
    global.gc!();
    global.gc!();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { heldBytes: heapUsed + external, residentBytes: rss, processorMicroseconds: user + system } satisfies Usage;
});
