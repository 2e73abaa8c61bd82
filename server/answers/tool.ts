// What a tool is, and what it answers with: plain schemas, no output schema, failures as text, which every client takes.
import type { Choices } from '../choices.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { View } from '../view.ts';
import type { Touched } from './read.ts';

export interface Tool {
  name: string;
  title: string;
  /** @param choices of the request: a tool may take more under some */
  description(choices: Choices): string;
  inputSchema(choices: Choices): InputSchema;
  shown(choices: Choices): boolean;
  /** Arguments that a tool does not know are passed over. @throws whatever is no failure of what was asked for */
  call(
    args: Record<string, unknown>,
    view: View,
    choices: Choices,
    downloads: Downloads,
  ): ToolAnswer | Promise<ToolAnswer>;
}

export interface InputSchema {
  [key: string]: unknown;
  type: 'object';
  properties: Record<string, PropertySchema>;
  required?: string[];
}

/** A text, or an object of texts: of anything richer some client makes nothing. */
export type PropertySchema =
  | { type: 'string'; description: string }
  | { type: 'object'; description: string; additionalProperties: { type: 'string' } };

export interface ToolText {
  type: 'text';
  text: string;
}

export interface ToolLink {
  type: 'resource_link';
  uri: string;
  name: string;
  mimeType: string;
  size: number;
}

export interface ToolAnswer {
  content: (ToolText | ToolLink)[];
  isError?: true;
  /** What was read, for the metric of reads. */
  touched?: Touched;
}

export const said = (text: string): ToolAnswer => ({ content: [{ type: 'text', text }] });

/** @param text one clear sentence that says what to do */
export const failed = (text: string): ToolAnswer => ({ content: [{ type: 'text', text }], isError: true });
