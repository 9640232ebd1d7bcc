import { computeControlShare } from '../../encoding/charset.ts';
import type { DecodedText } from '../../encoding/decode.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ParseContext, TextFile } from '../format.ts';
import { controlShareMax } from './plain-text.ts';
import { RowPaginator, toCellText } from './row-pages.ts';

type Delimiter = ',' | ';' | '\t' | '|';

/**
 * Parses CSV and TSV (RFC 4180, any of four delimiters, including one named by a first line `sep=;` as in
 * Excel): fields joined by tabs, rows grouped into unordered pages. Without a standard delimiter, it is
 * detected.
 * csv-parse takes 5 times as long and rejects an unclosed quote (docs/decisions/parsing-libraries.md).
 */
export function* parseDelimited(
  decoded: DecodedText,
  standardDelimiter: Delimiter | null,
  { limits }: ParseContext,
): Generator<string, DocumentDetails> {
  if (computeControlShare(decoded.text) > controlShareMax) {
    throw new ParseFailure('unsupported', 'The file is binary, not a table of text.');
  }
  const budget = new TextBudget(limits.textUnitsMax);
  const pages = new RowPaginator();
  const delimiterLine = /^sep=([,;\t|])\r?\n/.exec(decoded.text);
  const text = decoded.text.slice(delimiterLine?.[0].length ?? 0);
  const delimiter =
    (delimiterLine?.[1] as Delimiter | undefined) ?? standardDelimiter ?? detectDelimiter(text) ?? ',';
  for (const fields of splitRows(text, delimiter)) {
    const row = fields.map(toCellText).join('\t').trimEnd();
    if (row === '') continue;
    budget.consume(row.length + 1);
    const page = pages.addRow(row);
    if (page !== null) yield page;
  }
  const last = pages.flush();
  if (last !== null) yield last;
  return {
    headings: false,
    title: null,
    language: null,
    warnings: decoded.warning === null ? [] : [decoded.warning],
  };
}

/** Yields the fields of each record; an unclosed quote ends with the text. */
function* splitRows(text: string, delimiter: Delimiter): Generator<string[]> {
  let fields: string[] = [];
  let position = 0;
  while (position < text.length) {
    const field = readField(text, position, delimiter);
    fields.push(field.value);
    position = field.end;
    if (text.charAt(position) === delimiter) {
      position += 1;
      if (position === text.length) fields.push('');
      continue;
    }
    yield fields;
    fields = [];
    position += text.startsWith('\r\n', position) ? 2 : 1;
  }
  if (fields.length > 0) yield fields;
}

interface Field {
  readonly value: string;
  /** Index of the delimiter, line break or end of text after the field. */
  readonly end: number;
}

function readField(text: string, start: number, delimiter: Delimiter): Field {
  if (text.charAt(start) !== '"') {
    const end = findFieldEnd(text, start, delimiter);
    return { value: text.slice(start, end), end };
  }
  let value = '';
  let position = start + 1;
  for (;;) {
    const quote = text.indexOf('"', position);
    if (quote === -1) return { value: value + text.slice(position), end: text.length };
    value += text.slice(position, quote);
    if (text.charAt(quote + 1) !== '"') {
      const end = findFieldEnd(text, quote + 1, delimiter);
      return { value: value + text.slice(quote + 1, end), end };
    }
    value += '"';
    position = quote + 2;
  }
}

function findFieldEnd(text: string, start: number, delimiter: Delimiter): number {
  let end = start;
  while (end < text.length) {
    const character = text.charAt(end);
    if (character === delimiter || character === '\n' || character === '\r') break;
    end += 1;
  }
  return end;
}

const sampleUnits = 65_536;
const sampleRows = 50;

/** Returns the delimiter that yields the most fields in the first rows, or null when none yields two. */
function detectDelimiter(text: string): Delimiter | null {
  const sample = text.slice(0, sampleUnits);
  let best: { delimiter: Delimiter; fields: number } | null = null;
  for (const delimiter of [',', ';', '\t', '|'] as const) {
    const { fields } = countColumns(sample, delimiter, sample.length < text.length);
    if (fields >= 2 && (best === null || fields > best.fields)) best = { delimiter, fields };
  }
  return best?.delimiter ?? null;
}

/**
 * Returns the number of sampled rows, and the number of fields that nearly all of them have (0: they differ).
 * `isTruncated`: the last row of the sample may be incomplete.
 */
function countColumns(
  sample: string,
  delimiter: Delimiter,
  isTruncated: boolean,
): { rows: number; fields: number } {
  const counts: number[] = [];
  for (const fields of splitRows(sample, delimiter)) {
    if (fields.length === 1 && fields[0] === '') continue;
    counts.push(fields.length);
    if (counts.length > sampleRows) break;
  }
  if (isTruncated || counts.length > sampleRows) counts.pop();
  const [first] = counts;
  if (first === undefined) return { rows: 0, fields: 0 };
  const same = counts.filter((count) => count === first).length;
  return { rows: counts.length, fields: same >= counts.length * 0.95 ? first : 0 };
}

/** Whether a text without an extension is a table: at least five rows agree on the number of fields. */
export function isTable({ text, extension }: TextFile, delimiter: Delimiter, fieldsMin: number): boolean {
  if (extension !== null) return false;
  const sample = text.slice(0, sampleUnits);
  const { rows, fields } = countColumns(sample, delimiter, sample.length < text.length);
  return rows >= 5 && fields >= fieldsMin;
}
