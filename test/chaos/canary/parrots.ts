// Servers that repeat the credential that they are shown, wherever an answer has room for it, and never give what is wanted.
// No real server does so on demand.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { impostor } from '../sources/case.ts';

/** One answer with these words in it. */
export type Parrot = (words: string, request: IncomingMessage, response: ServerResponse) => void;

const html = { 'content-type': 'text/html' };
const page = (words: string): string => `<html><title>${words}</title><body>You are ${words}</body></html>`;
const says =
  (status: number, headers: (words: string) => Record<string, string> = () => html, body = page): Parrot =>
  (words, _, response) =>
    void response.writeHead(status, headers(words)).end(body(words));

/** What they do, whatever the protocol. */
export const anywhere: Record<string, Parrot> = {
  'a challenge': says(401, (words) => ({ ...html, 'www-authenticate': `Basic realm="${words}"` })),
  'a page of 403': says(403),
  'a page of 404': says(404),
  'a page of 429': says(429, (words) => ({ ...html, 'retry-after': words })),
  'a page of 500': says(500),
  'a sign-in page': says(200),
  'the reason of a status': (words, _, response) => void response.writeHead(403, words).end(page(words)),
  headers: says(400, (words) => ({
    'content-type': `text/${encodeURIComponent(words)}`,
    etag: `"${words}"`,
    'set-cookie': `token=${words}`,
    warning: `199 - "${words}"`,
    'x-token': words,
    [`x-${encodeURIComponent(words).replaceAll('%', '-')}`]: 'yes',
  })),
  'an encoding that nobody knows': says(200, (words) => ({ 'content-encoding': encodeURIComponent(words) })),
  'a redirect in a circle': (words, request, response) => {
    const path = request.url!.replace(/\?.*/, '');
    response.writeHead(302, { location: `${path}?token=${encodeURIComponent(words)}` }).end(page(words));
  },
  'a redirect with a user': (words, request, response) => {
    const location = `http://ada:${encodeURIComponent(words)}@${request.headers.host}/moved`;
    response.writeHead(302, { location }).end();
  },
  'a redirect to a closed address': says(302, (words) => ({
    location: `http://169.254.169.254/${encodeURIComponent(words)}`,
  })),
  'a redirect to another scheme': says(302, (words) => ({ location: `ftp://${encodeURIComponent(words)}/x` })),
  'a redirect to a name': says(302, (words) => ({
    location: `http://${words.replace(/[^A-Za-z0-9]/g, '-').slice(0, 60)}.invalid/${encodeURIComponent(words)}`,
  })),
  'a redirect to no address': says(302, (words) => ({ location: `http://[${words}` })),
  'no HTTP': (words, request) => void request.socket.end(`HTTP/1.1 ${words}\r\n${words}\r\n\r\n${words}`),
  'half an answer': (words, _, response) => {
    response.writeHead(200, { ...html, 'content-length': '100000' });
    response.write(page(words), () => response.destroy());
  },
};

const line = (text: string): string => `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`;
const advertisement = { 'content-type': 'application/x-git-upload-pack-advertisement' };
const xml = { 'content-type': 'application/xml' };
const json = { 'content-type': 'application/json' };

/** What they do in the words of one protocol. */
export const inProtocol = {
  git: {
    'an error of git': says(
      200,
      () => advertisement,
      (words) => line(`ERR ${words}\n`),
    ),
    'lines of git': says(
      200,
      () => advertisement,
      (words) => `${line('# service=git-upload-pack\n')}0000${line(`${words}\n`)}0000`,
    ),
  },
  webdav: {
    'a status of WebDAV': says(
      207,
      () => xml,
      (words) =>
        `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/</d:href><d:status>HTTP/1.1 403 ${words}</d:status>
        <d:error>${words}</d:error><d:responsedescription>${words}</d:responsedescription></d:response></d:multistatus>`,
    ),
    'no XML': says(
      207,
      () => xml,
      (words) => `<?xml version="1.0"?><${words}`,
    ),
  },
  bucket: {
    'an error of S3': says(
      403,
      () => xml,
      (words) => `<?xml version="1.0"?><Error><Code>${words}</Code><Message>${words}</Message></Error>`,
    ),
    'no XML': says(
      200,
      () => xml,
      (words) => `<?xml version="1.0"?><ListBucketResult><${words}`,
    ),
  },
  registry: {
    'an error of OCI': says(
      403,
      () => json,
      (words) => JSON.stringify({ errors: [{ code: words, message: words, detail: words }] }),
    ),
    'no JSON': says(
      200,
      () => ({ 'content-type': 'application/vnd.oci.image.manifest.v1+json' }),
      (words) => words,
    ),
    'a manifest of its own': says(
      200,
      () => ({ 'content-type': 'application/vnd.oci.image.manifest.v1+json' }),
      (words) => JSON.stringify({ schemaVersion: words, mediaType: words, config: words, layers: [words] }),
    ),
  },
  publisher: {
    'no JSON': says(
      200,
      () => json,
      (words) => words,
    ),
    'an index of its own': says(
      200,
      () => json,
      (words) => JSON.stringify({ $schema: words, skills: words, [words]: words }),
    ),
  },
} satisfies Record<string, Record<string, Parrot>>;

export interface ParrotServer extends AsyncDisposable {
  origin: string;
  /** Whether it was shown its secret. */
  heard(): boolean;
}

export interface ParrotOptions {
  /** What it knows of whoever comes. */
  secrets: readonly string[];
  parrot: Parrot;
  /** What it asks for before it repeats anything; nothing where it is shown the secret unasked. */
  challenge?: (origin: string) => string;
  /** A token that it gives at /token. */
  token?: string;
}

export async function parrotServer({ secrets, parrot, challenge, token }: ParrotOptions): Promise<ParrotServer> {
  let heard = false;
  const { origin, server } = await impostor((request, response) => {
    const shown = [request.headers.authorization, request.headers['x-amz-security-token']].filter(Boolean).join(' ');
    if (shown === '' && challenge !== undefined) {
      response.writeHead(401, { 'www-authenticate': challenge(origin) }).end();
      return;
    }
    heard ||= shown !== '';
    if (token !== undefined && request.url!.startsWith('/token'))
      return void response.writeHead(200, json).end(JSON.stringify({ token }));
    parrot(`${secrets.join(' ')} ${shown.replaceAll('"', '')}`.trim(), request, response);
  });
  server.on('clientError', (_, socket) => socket.destroy());
  return {
    origin,
    heard: () => heard,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
