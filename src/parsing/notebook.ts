import type { DecodedText } from './decode.ts';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { markdownTitle, textContentType } from './plain-text.ts';
import { TextBudget } from './text-budget.ts';

/** Anything that JSON can be; every field of a stranger's notebook is looked at before it is used. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A JSON text that says of itself to be a notebook. */
export function isNotebook(json: string): boolean {
  return /"nbformat"\s*:/.test(json) && /"(?:cells|worksheets)"\s*:/.test(json);
}

/**
 * Jupyter notebooks as one Markdown page: text cells as they are written, code and what it printed in fences. Images and
 * everything else that is not text are left out. Source: nbformat 3 and 4.
 */
export function* parseNotebook(decoded: DecodedText, limits: ParseLimits): Generator<string, DocumentFacts> {
  const budget = new TextBudget(limits.textUnitsMax);
  const notebook = JSON.parse(decoded.text) as Json;
  const sheets = list(field(notebook, 'worksheets')).flatMap((sheet) => list(field(sheet, 'cells')));
  const cells = [...list(field(notebook, 'cells')), ...sheets];
  const info = field(field(notebook, 'metadata'), 'language_info');
  const language = /^\w+$/.exec(text(field(info, 'name')))?.[0] ?? '';
  const blocks = cells.flatMap((cell) => cellBlocks(cell, language));
  for (const block of blocks) budget.take(block.length + 2);
  const page = blocks.join('\n\n');
  if (cells.length === 0) throw new ParseFailure('corrupt', 'The notebook is damaged: it has no cells.');
  yield page;
  return {
    kind: 'notebook',
    contentType: textContentType('application/x-ipynb+json', decoded),
    unordered: false,
    headings: true,
    title: text(field(field(notebook, 'metadata'), 'title')) || markdownTitle(page),
    language: null,
    warnings: decoded.warning === null ? [] : [decoded.warning],
  };
}

function cellBlocks(cell: Json, language: string): string[] {
  const source = (text(field(cell, 'source')) || text(field(cell, 'input'))).trim();
  const kind = field(cell, 'cell_type');
  if (kind === 'heading') return [`${'#'.repeat(levelOf(field(cell, 'level')))} ${source}`];
  if (kind !== 'code') return source === '' ? [] : [source];
  const printed = list(field(cell, 'outputs')).map(outputText).join('\n').trim();
  return [
    ...(source === '' ? [] : [fenced(source, language)]),
    ...(printed === '' ? [] : [fenced(printed, '')]),
  ];
}

function outputText(output: Json): string {
  const data = field(output, 'data') ?? output;
  const shown =
    text(field(output, 'text')) || text(field(data, 'text/plain')) || text(field(data, 'text/markdown'));
  const error = [field(output, 'ename'), field(output, 'evalue')].map(text).filter((part) => part !== '');
  return [shown.trimEnd(), error.join(': ')].filter((part) => part !== '').join('\n');
}

function fenced(source: string, language: string): string {
  const fence = source.includes('```') ? '~~~' : '```';
  return `${fence}${language}\n${source}\n${fence}`;
}

function levelOf(level: Json | undefined): number {
  return typeof level === 'number' && level >= 1 && level <= 6 ? Math.trunc(level) : 1;
}

function field(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as { readonly [name: string]: Json })[name] : undefined;
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** Text is stored whole or as its lines. */
function text(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return list(value)
    .filter((line) => typeof line === 'string')
    .join('');
}
