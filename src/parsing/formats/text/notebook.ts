import { isObject } from '../../../core/is-object.ts';
import type { DecodedText } from '../../encoding/decode.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ParseContext } from '../format.ts';
import { isJson } from './json.ts';
import { findMarkdownTitle } from './markdown.ts';

/** Any JSON value; every field of an untrusted notebook is checked before use. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Whether the text is JSON that declares itself a notebook. */
export function isNotebook(text: string): boolean {
  return /"nbformat"\s*:/.test(text) && /"(?:cells|worksheets)"\s*:/.test(text) && isJson(text);
}

/**
 * Converts a Jupyter notebook to one Markdown page: text cells verbatim, code and its text output in fences.
 * Images and all other non-text content are dropped. Source: nbformat 3 and 4.
 */
export function* parseNotebook(
  decoded: DecodedText,
  { limits }: ParseContext,
): Generator<string, DocumentDetails> {
  const budget = new TextBudget(limits.textUnitsMax);
  const notebook = JSON.parse(decoded.text) as Json;
  const sheets = toList(getField(notebook, 'worksheets')).flatMap((sheet) =>
    toList(getField(sheet, 'cells')),
  );
  const cells = [...toList(getField(notebook, 'cells')), ...sheets];
  const info = getField(getField(notebook, 'metadata'), 'language_info');
  const language = /^\w+$/.exec(toText(getField(info, 'name')))?.[0] ?? '';
  const blocks = cells.flatMap((cell) => formatCell(cell, language));
  for (const block of blocks) budget.consume(block.length + 2);
  const page = blocks.join('\n\n');
  if (cells.length === 0) throw new ParseFailure('corrupt', 'The notebook is damaged: it has no cells.');
  yield page;
  return {
    headings: true,
    title: toText(getField(getField(notebook, 'metadata'), 'title')) || findMarkdownTitle(page),
    language: null,
    warnings: decoded.warning === null ? [] : [decoded.warning],
  };
}

function formatCell(cell: Json, language: string): string[] {
  const source = (toText(getField(cell, 'source')) || toText(getField(cell, 'input'))).trim();
  const kind = getField(cell, 'cell_type');
  if (kind === 'heading') return [`${'#'.repeat(toHeadingLevel(getField(cell, 'level')))} ${source}`];
  if (kind !== 'code') return source === '' ? [] : [source];
  const outputs = toList(getField(cell, 'outputs')).map(formatOutput).join('\n').trim();
  return [
    ...(source === '' ? [] : [formatFence(source, language)]),
    ...(outputs === '' ? [] : [formatFence(outputs, '')]),
  ];
}

function formatOutput(output: Json): string {
  const data = getField(output, 'data') ?? output;
  const text =
    toText(getField(output, 'text')) ||
    toText(getField(data, 'text/plain')) ||
    toText(getField(data, 'text/markdown'));
  const error = [getField(output, 'ename'), getField(output, 'evalue')]
    .map(toText)
    .filter((part) => part !== '');
  return [text.trimEnd(), error.join(': ')].filter((part) => part !== '').join('\n');
}

function formatFence(source: string, language: string): string {
  const fence = source.includes('```') ? '~~~' : '```';
  return `${fence}${language}\n${source}\n${fence}`;
}

function toHeadingLevel(level: Json | undefined): number {
  return typeof level === 'number' && level >= 1 && level <= 6 ? Math.trunc(level) : 1;
}

function getField(value: Json | undefined, name: string): Json | undefined {
  if (!isObject(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as { readonly [name: string]: Json })[name] : undefined;
}

function toList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** Text is stored as a string or as a list of lines. */
function toText(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return toList(value)
    .filter((line) => typeof line === 'string')
    .join('');
}
