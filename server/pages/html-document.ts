// The document around whatever a page shows: its head, and the way past what every page begins with.
import { icon, script, stylesheet } from './assets.ts';
import { type Html, html } from './html.ts';

/** @param title of the browser's window */
export const htmlDocument = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${stylesheet.href}">
<link rel="icon" type="image/svg+xml" href="${icon.href}">
<script type="module" src="${script.href}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${body}
</body>
</html>
`.text;
