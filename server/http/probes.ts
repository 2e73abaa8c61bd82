// The routes that probes and people ask for the server's state. They stand outside every scope.
import type { FastifyInstance } from 'fastify';
import type { CurrentCatalogue } from './catalogue.ts';
import { healthBody, readiness } from './health.ts';

export interface ProbeOptions {
  catalogue: CurrentCatalogue;
  /** Whether the server was told to stop. */
  isClosing(): boolean;
}

export function addProbes(app: FastifyInstance, { catalogue, isClosing }: ProbeOptions): void {
  app.get('/livez', { config: { access: 'open' } }, async () => ({ status: 'ok' }));
  app.get('/readyz', { config: { access: 'open' } }, async (_request, reply) => {
    const state = readiness(catalogue.snapshot, catalogue.fault, isClosing());
    return reply.code(state.ready ? 200 : 503).send(state);
  });
  app.get('/health', { config: { access: 'anonymous' } }, async (request) => {
    const body = healthBody(catalogue);
    const closed = catalogue.snapshot?.index.auth !== undefined && request.client === undefined;
    return closed ? { status: body.status } : body;
  });
}
