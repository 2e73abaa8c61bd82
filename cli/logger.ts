// The one logger of a process: JSON lines on standard error, so that standard output stays for what people read.
import { destination, type Logger, pino } from 'pino';

export function makeLogger(level: string): Logger {
  return pino(
    { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` },
    destination({ dest: 2, sync: true }),
  );
}
