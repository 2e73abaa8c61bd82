// The SDK's clients of both lines against a real server.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { RunningServer } from '../../server/server.ts';
import { type AnyClient, clients } from './support/clients.ts';
import { lifetime, schoolTree, serveCatalogue, skillText } from './support/gateway.ts';

for (const [line, connect] of Object.entries(clients)) {
  describe(`the SDK's client, ${line}`, () => {
    const suite = lifetime();
    let server: RunningServer;
    before(async () => {
      server = await serveCatalogue(suite, { ...schoolTree, instructions: 'Read before you act.' });
    });

    async function using(query: string, work: (client: AnyClient) => Promise<void>): Promise<void> {
      const client = await connect(new URL(`${server.url}/mcp${query}`));
      try {
        await work(client);
      } finally {
        await client.close();
      }
    }

    it('lists, reads an index, a skill, its manifest and a file', async () => {
      await using('', async (client) => {
        assert.equal(client.getInstructions(), 'Read before you act.');
        const { resources } = await client.listResources();
        assert.equal(resources.length, 5);
        assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
        for (const uri of [
          'skill://deepsource',
          'skill://flatsource/beta/_manifest',
          'skill://flatsource/beta/scripts/run.sh',
        ]) {
          assert.equal((await client.readResource({ uri })).contents.length, 1, uri);
        }
        const { contents } = await client.readResource({ uri: 'skill://flatsource/alpha' });
        assert.deepEqual(contents, [
          {
            uri: 'skill://flatsource/alpha',
            mimeType: 'text/markdown',
            text: skillText({ address: 'alpha', description: 'First skill.' }),
          },
        ]);
      });
    });

    it('lists prompts, gets one, and is told what is missing', async () => {
      await using('?library=flatsource', async (client) => {
        const { prompts } = await client.listPrompts();
        assert.deepEqual(
          prompts.map(({ name }) => name),
          ['flatsource_hello'],
        );
        const { messages } = await client.getPrompt({ name: 'flatsource_hello', arguments: { who: 'Ada' } });
        assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Hello, Ada!\n' } }]);
        await assert.rejects(client.getPrompt({ name: 'flatsource_hello' }), { code: -32602, message: /who/ });
        await assert.rejects(client.getPrompt({ name: 'deepsource_check' }), { code: -32602 });
      });
    });

    it('completes variables of addresses and arguments of prompts', async () => {
      await using('', async (client) => {
        const { completion } = await client.complete({
          ref: { type: 'ref/resource', uri: 'skill://{library}/{skill}' },
          argument: { name: 'skill', value: '' },
          context: { arguments: { library: 'flatsource' } },
        });
        assert.deepEqual(completion.values, ['alpha', 'beta']);
        const ref = { type: 'ref/prompt' as const, name: 'flatsource_hello' };
        const greeting = await client.complete({ ref, argument: { name: 'greeting', value: 'H' } });
        assert.deepEqual(greeting.completion.values, ['Hello']);
      });
    });

    it('is told that an unknown resource does not exist', async () => {
      await using('', async (client) => {
        await assert.rejects(client.readResource({ uri: 'skill://nowhere' }), { code: -32602 });
      });
    });

    it('sees no tools, and under ?resources=off the pair that does the same', async () => {
      await using('', async (client) => assert.deepEqual((await client.listTools()).tools, []));
      await using('?resources=off&library=flatsource', async (client) => {
        assert.deepEqual(
          (await client.listTools()).tools.map(({ name }) => name),
          ['list_resources', 'read_resource'],
        );
        const list = await client.callTool({ name: 'list_resources', arguments: {} });
        assert.deepEqual(
          JSON.parse(list.content[0].text).map(({ uri }: { uri: string }) => uri),
          ['skill://flatsource'],
        );
        const read = await client.callTool({ name: 'read_resource', arguments: { uri: 'skill://flatsource/beta' } });
        assert.match(read.content[0].text, /Instructions of beta/);
        const foreign = await client.callTool({ name: 'read_resource', arguments: { uri: 'skill://deepsource' } });
        assert.equal(foreign.isError, true);
      });
    });

    it('follows the pages of a full listing', async () => {
      await using('?skills=full', async (client) => {
        const { resources, nextCursor } = await client.listResources();
        assert.equal(resources.length, 9);
        assert.equal(nextCursor, undefined);
      });
    });
  });
}
