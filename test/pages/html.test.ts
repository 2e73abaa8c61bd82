// The template that pages are made with: nothing that is put into it becomes HTML by itself.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { html } from '../../server/pages/html.ts';

it('text is escaped, in an element and in a quoted attribute', () => {
  const evil = `<script>"'&</script>`;
  const safe = '&lt;script&gt;&quot;&#39;&amp;&lt;/script&gt;';
  assert.equal(html`<p title="${evil}">${evil}</p>`.text, `<p title="${safe}">${safe}</p>`);
});

it('what was made by it stands as it is; lists are joined; nothing is nothing, and 0 is a number', () => {
  const items = ['a', '<b>'].map((one) => html`<li>${one}</li>`);
  assert.equal(html`<ul>${items}${undefined}${false}${0}</ul>`.text, '<ul><li>a</li><li>&lt;b&gt;</li>0</ul>');
});

it('what hides text or turns its direction is shown as unreadable; scripts from right to left stay', () => {
  assert.equal(
    html`${'\u202etxt.exe a\u2067b\u2069 c\u{e0068}\u{e0069}d'}`.text,
    '\ufffdtxt.exe a\ufffdb\ufffd c\ufffdd',
  );
  const arabic = '\u0645\u0631\u062d\u0628\u0627\u200f 1.0 \u200f';
  assert.equal(html`${arabic}`.text, arabic);
});

it('control characters and halves of characters are shown as unreadable; line ends and tabs stay', () => {
  assert.equal(html`${'a\0b\x1bc\ud800d\u0085e'}`.text, 'a\ufffdb\ufffdc\ufffdd\ufffde');
  assert.equal(html`${'a\tb\r\nc'}`.text, 'a\tb\r\nc');
});
