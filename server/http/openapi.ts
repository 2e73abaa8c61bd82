// The route GET /openapi.yaml: what this server answers, as programs read it. A test holds it to the routes that there are.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const document = readFileSync(join(import.meta.dirname, 'openapi.yaml'));

export function addOpenapi(app: FastifyInstance): void {
  app.get('/openapi.yaml', async (_request, reply) => reply.type('application/yaml; charset=utf-8').send(document));
}
