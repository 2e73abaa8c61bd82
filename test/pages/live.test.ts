// Pages of a Live source: they show what its folder has now, as agents read it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { skillText } from '../fixtures/operator.ts';
import { startWebDavServer } from '../fixtures/webdav-server.ts';
import { liveGateway } from '../live/support.ts';

for (const path of ['', '/raw/SKILL.md', '/archive']) {
  test(`an edit is in the next answer of /skills/loki${path}`, async (t) => {
    const dav = await startWebDavServer('nginx');
    t.after(() => dav.close());
    await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Before.') });
    await using gateway = await liveGateway(dav);
    await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 0);
    const bytes = Buffer.from(await (await fetch(`${gateway.server.url}/skills/loki${path}`)).arrayBuffer());
    const text = path === '/archive' ? gunzipSync(bytes) : bytes;
    assert.ok(text.includes('Edited.') && !text.includes('Before.'), text.toString());
  });
}
