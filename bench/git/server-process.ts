// A process that serves repositories by git's own http-backend and tells what went over the wire.
import { startGitServer } from '../../test/fixtures/git-server.ts';
import { answerQuestions } from '../answering.ts';

/** What was asked since the last time somebody looked. */
export interface Traffic {
  requests: number;
  /** Of the bodies, both ways. */
  bytes: number;
}

export type ServerQuestion = 'origin' | 'traffic';

const server = await startGitServer({ root: process.argv[2]! });

answerQuestions<ServerQuestion>((question) => {
  if (question === 'origin') return server.origin;
  const exchanges = server.exchanges.splice(0);
  const bytes = exchanges.reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0);
  return { requests: exchanges.length, bytes } satisfies Traffic;
});
