// What a page does beyond showing: results while somebody types, and copying. Without it everything else works.

const form = document.querySelector('form[data-search]');
const input = form?.querySelector('input[type="search"]');
const list = document.getElementById('found');
const status = document.getElementById('found-status');

const typingMs = 80;
let timer;
let asking;
let chosen = -1;

const options = () => [...list.querySelectorAll('[role="option"]')];

function close() {
  clearTimeout(timer);
  asking?.abort();
  list.hidden = true;
  list.replaceChildren();
  choose(-1);
  input.setAttribute('aria-expanded', 'false');
}

function choose(at) {
  const all = options();
  chosen = all.length === 0 || at < 0 ? -1 : at % all.length;
  for (const [index, option] of all.entries()) option.setAttribute('aria-selected', String(index === chosen));
  if (chosen === -1) {
    input.removeAttribute('aria-activedescendant');
    return;
  }
  input.setAttribute('aria-activedescendant', all[chosen].id);
  all[chosen].scrollIntoView({ block: 'nearest' });
}

function option(href, at, ...content) {
  const link = document.createElement('a');
  link.href = href;
  link.id = `found-${at}`;
  link.setAttribute('role', 'option');
  link.tabIndex = -1;
  link.setAttribute('aria-selected', 'false');
  link.append(...content);
  return link;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function show(query, { total, results }) {
  const rows = results.map(({ href, name, kind, library, description }, at) =>
    option(
      href,
      at,
      element('strong', name),
      ' ',
      element('small', `${kind} · ${library}`),
      element('span', description),
    ),
  );
  if (total > results.length) {
    rows.push(option(hrefOfAll(query), results.length, element('span', `All ${total.toLocaleString('en')} results`)));
  }
  list.replaceChildren(...rows);
  list.hidden = rows.length === 0;
  input.setAttribute('aria-expanded', String(rows.length > 0));
  choose(-1);
  status.textContent =
    total === 0
      ? 'No results'
      : total === 1
        ? '1 result'
        : `${total} results, ${results.length} shown; choose with the arrow keys`;
}

function hrefOfAll(query) {
  const parameters = new URLSearchParams(new FormData(form));
  parameters.set('q', query);
  return `/?${parameters}`;
}

async function look() {
  const query = input.value.trim();
  if (query === '') {
    close();
    status.textContent = '';
    return;
  }
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  try {
    const url = new URL(form.dataset.search, location.href);
    url.searchParams.set('q', query);
    const answer = await fetch(url, { signal, headers: { Accept: 'application/json' } });
    const body = await answer.json();
    if (signal.aborted) return;
    if (answer.ok) {
      show(query, body);
    } else {
      close();
      status.textContent = body.error ?? 'The search did not work';
    }
  } catch {
    // Another letter was typed, or the network is gone: the form itself still works.
  }
}

function onKey(event) {
  if (event.key === 'Escape' && !list.hidden) {
    event.preventDefault();
    close();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !list.hidden) {
    event.preventDefault();
    const { length } = options();
    choose(event.key === 'ArrowDown' ? chosen + 1 : chosen <= 0 ? length - 1 : chosen - 1);
  } else if (event.key === 'Enter' && chosen !== -1) {
    event.preventDefault();
    options()[chosen].click();
  }
}

if (input) {
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-controls': 'found',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
  })) {
    input.setAttribute(name, value);
  }
  if (matchMedia('(pointer: fine)').matches) input.placeholder = 'Search (press /)';
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(look, typingMs);
  });
  input.addEventListener('keydown', onKey);
  form.addEventListener('focusout', ({ relatedTarget }) => {
    if (!form.contains(relatedTarget)) close();
  });
  // What is chosen by a mouse does not take the focus away, which would close the list before it is chosen.
  list.addEventListener('mousedown', (event) => event.preventDefault());
  form.addEventListener('submit', () => close());
  document.addEventListener('keydown', (event) => {
    const { target, key } = event;
    if (key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]')) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

/** On a plain http:// address browsers have no clipboard for scripts, but copy what is selected. */
async function copy(code) {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(code.textContent);
  getSelection().selectAllChildren(code);
  if (!document.execCommand('copy')) throw new Error('nothing was copied');
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  const code = button.parentElement.querySelector('code');
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await copy(code);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not copied';
    }
    // The name of a button is not its text where it has a label, so that what becomes of it must be told.
    status.textContent = button.textContent;
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
}
