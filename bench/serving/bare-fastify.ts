// The floor: fastify that parses a request's JSON and sends bytes that it was given.
import Fastify from 'fastify';
import { answerQuestions } from '../answering.ts';

const app = Fastify();
let answer: Buffer = Buffer.alloc(0);
app.post('/mcp', async (_request, reply) => reply.type('application/json').send(answer));
const origin = await app.listen({ host: '127.0.0.1', port: 0 });

/** @param bytes what is sent from now on */
answerQuestions<Uint8Array>((bytes) => {
  answer = Buffer.from(bytes);
  return origin;
});
