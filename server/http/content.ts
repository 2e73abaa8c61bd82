// Other people's bytes over plain HTTP: files and archives, with what names their state and keeps browsers from running them.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileRow } from '../../catalogue/source-catalogue.ts';
import type { Budget } from '../budget.ts';
import type { View } from '../view.ts';

/** Requests are narrowed by these headers, so whoever keeps an answer must look at them. */
export const narrowedBy = 'Authorization, X-Skill-Library, X-Skill-Pack, X-Skill-Tags';

/** Another site's page cannot take in what a browser fetches with this server's password: as a script, a picture, a style. */
export const embeddedNowhere = { 'cross-origin-resource-policy': 'same-origin' };

/** What is served is other people's text: no browser takes it for a page of this server's own. */
export const contentHeaders = {
  ...embeddedNowhere,
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; sandbox",
  vary: narrowedBy,
  'x-content-type-options': 'nosniff',
};

/** An ETag. @param digest with or without `sha256:` before it */
export const tagOf = (digest: string): string => `"${digest.replace('sha256:', '')}"`;

/** Names the state of what is asked for. @returns true when the client has it, which is answered then */
export function isKept(request: FastifyRequest, reply: FastifyReply, tag: string): boolean {
  reply.header('etag', tag);
  const known = request.headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''));
  if (known === undefined || !(known.includes(tag) || known.includes('*'))) return false;
  reply.code(304).send();
  return true;
}

export interface Sending {
  request: FastifyRequest;
  reply: FastifyReply;
  view: View;
  /** For the bytes that are in memory until they are sent. */
  budget: Budget;
  /** Called when content is sent, not where the client has it. */
  sent(): void;
}

/** @throws ContentUnavailable */
export async function sendFile(sending: Sending, file: FileRow): Promise<FastifyReply> {
  const { request, reply, view, budget } = sending;
  if (isKept(request, reply, tagOf(file.digest))) return reply;
  reply.type(contentType(file)).header('content-length', file.size);
  if (request.method === 'HEAD') return reply.send();
  const giveBack = await budget.take(file.size, () => reply.raw.destroy());
  if (reply.raw.destroyed) giveBack();
  else reply.raw.once('close', giveBack);
  const bytes = await view.snapshot.content.read(file.digest);
  sending.sent();
  return reply.send(bytes);
}

const contentType = ({ mediaType, text }: FileRow): string =>
  text && mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType;

export interface ArchiveToSend {
  type: string;
  fileName: string;
  digest: string;
  size: number;
  pieces(budget: Budget, overdue: () => void): AsyncIterable<Buffer>;
}

/** @throws ContentUnavailable while nothing is sent yet */
export function sendArchive(sending: Sending, archive: ArchiveToSend): FastifyReply {
  const { request, reply, budget } = sending;
  if (isKept(request, reply, tagOf(archive.digest))) return reply;
  reply.type(archive.type).header('content-length', archive.size);
  reply.header('content-disposition', `attachment; filename="${archive.fileName}"`);
  if (request.method === 'HEAD') return reply.send();
  sending.sent();
  const pieces = archive.pieces(budget, () => reply.raw.destroy());
  return reply.send(Readable.from(pieces, { objectMode: false }));
}
