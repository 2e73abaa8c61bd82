// Sends pages, with what keeps them safe in a browser.
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKept, tagOf } from '../http/content.ts';
import { refuse } from '../http/refuse.ts';
import { pageHeaders } from './page-headers.ts';
import type { Visit } from './visit.ts';

/** A request for a page, with what it may show. */
export interface Asked {
  request: FastifyRequest;
  reply: FastifyReply;
  visit: Visit;
}

export const sendPage = (asked: Asked, text: string): FastifyReply => send(asked, 'text/html; charset=utf-8', text);

export function send({ request, reply }: Asked, type: string, body: string): FastifyReply {
  reply.headers(pageHeaders);
  return isKept(request, reply, tagOf(hash('sha256', body))) ? reply : reply.type(type).send(body);
}

/** What is absent and what is out of scope look the same. */
export const notFound = ({ request, reply }: Asked): FastifyReply =>
  refuse(request, reply, 404, 'There is nothing here, or not in this scope');

export const unavailable = (request: FastifyRequest, reply: FastifyReply, why: string): FastifyReply =>
  refuse(request, reply.header('retry-after', '1'), 503, why);
