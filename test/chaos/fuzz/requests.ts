// Requests of strangers: to a server's MCP and pages, and to the operator's port for webhooks.
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { pino } from 'pino';
import { systemClock } from '../../../operator/clock.ts';
import { webhooksListener } from '../../../operator/webhooks/listener.ts';
import { Receiver } from '../../../operator/webhooks/receiver.ts';
import { MemoryCluster } from '../../fixtures/memory-cluster.ts';
import { schoolTree, serveCatalogue } from '../../server/support/gateway.ts';
import type { Prepared, Target } from './target.ts';

/** What is answered to bytes as they stand, until the connection ends; undefined where nothing is within a second. */
async function answerTo(port: number, bytes: Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const said: Buffer[] = [];
  socket.on('data', (piece) => said.push(piece)).on('error', () => {});
  socket.setTimeout(patience, () => socket.destroy());
  socket.end(bytes);
  // Not `once` of node:events, which a connection that is reset would reject.
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(said).toString('latin1');
}

const patience = 250;

/** @throws where an answer blames the program itself */
function judge(answer: string): void {
  for (const [, status] of answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)) {
    if (Number(status) >= 500 && status !== '501' && status !== '505')
      throw new Error(`status ${status}: ${answer.slice(0, 500)}`);
  }
  if (/node_modules|\.ts:\d+|at async /.test(answer))
    throw new Error(`an answer tells of the program: ${answer.slice(0, 500)}`);
}

const request = (line: string, headers: string[], body: string): Buffer => {
  const all = ['Host: localhost', 'Connection: close', `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
  return Buffer.from(`${line} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`);
};

/** With the length that its body has, so that it is not refused for that alone. */
const measured = (input: Buffer): Buffer => {
  const text = input.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return input;
  const head = text.slice(0, end).replace(/Content-Length:[^\r\n]*/i, `Content-Length: ${text.length - end - 4}`);
  return Buffer.from(head + text.slice(end), 'latin1');
};

const methods = [
  'initialize',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/read',
  'prompts/get',
  'skills/list',
  'skills/get',
  'completion/complete',
  'subscriptions/listen',
];

export const mcp: Target = {
  name: 'mcp',
  dictionary: [
    ...methods,
    'null',
    '[]',
    '{}',
    '"id":null',
    '"jsonrpc":"1.0"',
    '"params":',
    '"cursor":""',
    '"__proto__":',
    'skill://',
    'skill://flatsource/alpha',
    '%2e%2e/',
    '../',
    '?library=',
    '&tags=a,b',
    '"_meta":',
    '"2026-07-28"',
    '\\ud800',
    '\\u0000',
    'Transfer-Encoding: chunked\r\n',
    'Origin: null\r\n',
    'Mcp-Method: ',
    'Expect: 100-continue\r\n',
  ],
  async prepare(): Promise<Prepared> {
    const ends: (() => unknown)[] = [];
    const server = await serveCatalogue({ after: (task) => void ends.push(task) }, schoolTree);
    const port = Number(new URL(server.url).port);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const call = (method: string, params: object, more: string[] = []): Buffer =>
      request(
        'POST /mcp',
        ['Content-Type: application/json', 'Accept: application/json, text/event-stream', ...more],
        JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      );
    const modern = (method: string, params: object): Buffer =>
      call(method, { ...params, _meta: meta }, ['MCP-Protocol-Version: 2026-07-28', `Mcp-Method: ${method}`]);
    const seeds = [
      call('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }),
      call('tools/list', {}),
      call('tools/call', { name: 'read_resource', arguments: { uri: 'skill://flatsource/alpha' } }),
      call('resources/read', { uri: 'skill://flatsource' }),
      call('prompts/get', { name: 'flatsource_hello', arguments: { who: 'Ada' } }),
      modern('server/discover', {}),
      modern('skills/list', {}),
      modern('resources/list', { cursor: 'x' }),
      modern('completion/complete', {
        ref: { type: 'ref/resource', uri: 'skill://{library}' },
        argument: { name: 'library', value: 'f' },
      }),
      request('GET /?library=flatsource', ['Accept: text/html'], ''),
      request('GET /skills/alpha', ['Accept: text/html'], ''),
      request('GET /skills/flatsource/beta/raw/scripts/run.sh', [], ''),
      request('GET /search?q=first', [], ''),
      request('GET /.well-known/agent-skills/index.json', [], ''),
      request('GET /health', [], ''),
    ];
    return {
      seeds,
      async feed(input) {
        judge(await answerTo(port, measured(input)));
      },
      async close() {
        for (const end of ends.reverse()) await end();
      },
    };
  },
};

export const webhooks: Target = {
  name: 'webhooks',
  dictionary: [
    'POST ',
    'GET ',
    '/hooks/default/skills',
    '/hooks/',
    '..',
    '%2f',
    'X-Hub-Signature-256: sha256=',
    'X-Gitlab-Token: ',
    'Authorization: Bearer ',
    'webhook-signature: v1,',
    'Transfer-Encoding: chunked\r\n',
    'Expect: 100-continue\r\n',
    '\r\n\r\n',
    '\n',
    '0\r\n\r\n',
    'lyceum-passed-on: 1\r\n',
  ],
  async prepare(): Promise<Prepared> {
    const token = 'a token of the fuzzer';
    const cluster = new MemoryCluster();
    cluster.secrets.set('hook', { token });
    cluster.secrets.set('signing', { token: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
    const providers = {
      skills: ['GitHub', 'hook'],
      lab: ['GitLab', 'signing'],
      tea: ['Gitea', 'hook'],
      any: ['Generic', 'hook'],
    };
    for (const [name, [provider, secret]] of Object.entries(providers)) {
      cluster.source(name, { spec: { url: 'github://a/b', webhook: { provider, secretRef: { name: secret } } } });
    }
    const log = pino({ level: 'silent' });
    const metrics = { received: () => {} };
    const receiver = new Receiver({ cluster, look: () => {}, metrics, clock: systemClock, log });
    const listener = await webhooksListener({
      ...{ host: '127.0.0.1', port: 0, receiver, log },
      working: () => true,
      leader: async () => undefined,
    });
    const body = '{"ref":"refs/heads/main"}';
    const digest = createHmac('sha256', token).update(body).digest('hex');
    const seeds = [
      request('POST /hooks/default/skills', [`X-Hub-Signature-256: sha256=${digest}`, 'X-GitHub-Event: push'], body),
      request('POST /hooks/default/tea', [`X-Gitea-Signature: ${digest}`], body),
      request(
        'POST /hooks/default/lab',
        ['webhook-id: a', 'webhook-timestamp: 1', 'webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
        body,
      ),
      request('POST /hooks/default/any', ['Authorization: Bearer x'], body),
      Buffer.from(
        `POST /hooks/default/any HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-Signature: sha256=${digest}\r\n\r\n5\r\n{"ref\r\n0\r\n\r\n`,
      ),
    ];
    let fed = 0;
    return {
      seeds,
      async feed(input) {
        judge(await answerTo(listener.port, fed % 2 === 0 ? input : measured(input)));
        if (fed++ % 500 === 0 && !(await answerTo(listener.port, seeds[0]!)).startsWith('HTTP/1.1 202 ')) {
          throw new Error('a good webhook is not taken any more');
        }
      },
      close: () => listener.close(),
    };
  },
};
