// The thread in which Markdown is rendered: a text that takes for ever holds up nobody, and is ended with it.
import { parentPort } from 'node:worker_threads';
import { type MarkdownSource, renderMarkdown } from './render.ts';

/** What it says before its first answer. */
parentPort!.postMessage('ready');
parentPort!.on('message', (source: MarkdownSource) => parentPort!.postMessage(renderMarkdown(source)));
