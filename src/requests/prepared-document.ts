import { createHash } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { Texts } from '../core/packed-texts.ts';
import { checkParsedContent } from '../schemas/checks.ts';
import type { APIParsedDocument, DocumentContent, TextDocumentContent } from '../schemas/document-content.ts';
import { decodeFile, decodeVector } from './base64.ts';

/** Text with all properties that are expensive to compute for a long one. */
export interface TextContent {
  readonly type: TextDocumentContent['type'];
  /** Packed by a worker; a text prepared on the main thread is short and stays unchanged. */
  readonly pages: Texts;
  /** UTF-16 code units of each page. */
  readonly pageUnits: readonly number[];
  /** SHA-256 of the pages joined by blank lines, in lower-case hex. */
  readonly rawHash: string;
  /** UTF-8 bytes of the same text. */
  readonly size: number;
}

/** Text prepared by a worker. It is a class because the JSON of a caller cannot create an instance. */
export class PreparedText {
  readonly type: TextContent['type'];
  readonly content: TextContent;

  constructor(content: TextContent) {
    this.type = content.type;
    this.content = content;
  }
}

/** A file with its text, checked and decoded. */
export interface ParsedContent {
  readonly text: TextContent;
  /** The file, or the SHA-256 of the file that the document already has. */
  readonly file: { readonly bytes: Uint8Array } | { readonly hash: string };
  readonly details: Required<Omit<APIParsedDocument, 'type' | 'pages' | 'base64_data' | 'sha256'>>;
}

/** A file with its text, prepared by a worker. It is a class for the same reason as `PreparedText`. */
export class PreparedParsedFile {
  readonly type = 'parsed';
  readonly content: ParsedContent;

  constructor(content: ParsedContent) {
    this.content = content;
  }
}

/** A file decoded by a worker. */
interface PreparedFile {
  readonly type: 'auto';
  readonly base64_data: Uint8Array;
}

/** Content of a document, as received or as prepared by a worker. */
export type ContentInput = DocumentContent | PreparedText | PreparedParsedFile | PreparedFile;

/** A vector as received, or its decoded numbers. */
export type VectorInput = readonly number[] | string | Float64Array;

/**
 * Document packed by a worker. Its short fields are JSON, so that each item of a batch is parsed in a
 * separate unit of work.
 */
export interface PackedDocument {
  readonly path: string;
  /** Path, metadata and `overwrite`. */
  readonly fields: string;
  readonly content: TextContent | PreparedFile | ParsedContent;
  /** Values of its fields `vector` and `vectors`, if present. */
  readonly vectors: readonly PackedVectors[];
}

/** A rejected document of a batch, with its error. */
export interface RejectedDocument {
  readonly path: string | null;
  readonly error: SerializedError;
}

/** Batch item prepared by a worker. It is a class for the same reason as `PreparedText`. */
export class PreparedBatchItem {
  readonly #packed: PackedDocument | RejectedDocument;

  constructor(packed: PackedDocument | RejectedDocument) {
    this.#packed = packed;
  }

  /** Null for an item without a path. */
  get path(): string | null {
    return this.#packed.path;
  }

  /** Errors: the AppError of a rejected document. */
  unpack(): Record<string, unknown> {
    if ('error' in this.#packed) throw deserializeError(this.#packed.error);
    return unpackDocument(this.#packed);
  }
}

/** Serialized `AppError`, for transfer between threads. */
export interface SerializedError {
  readonly code: AppError['code'];
  readonly detail: string;
  readonly options: Pick<AppError['options'], 'issues'>;
}

/** Concatenated vectors. */
interface PackedVectors {
  readonly field: 'vector' | 'vectors';
  readonly lengths: Uint32Array;
  readonly numbers: Float64Array;
}

export function serializeError(error: AppError): SerializedError {
  const { issues } = error.options;
  return { code: error.code, detail: error.message, options: issues === undefined ? {} : { issues } };
}

export function deserializeError({ code, detail, options }: SerializedError): AppError {
  return new AppError(code, detail, options);
}

/** Errors: `too_large`. */
export function analyzeText(content: TextDocumentContent): TextContent {
  const pageTexts = content.type === 'text' ? [content.text] : content.pages;
  if (pageTexts.length > limits.textPagesMax) {
    throw new AppError(
      'too_large',
      `The document has ${pageTexts.length} pages; at most ${limits.textPagesMax} are allowed.`,
    );
  }
  const pages = pageTexts.map((page) => page.toWellFormed());
  const text = pages.join('\n\n');
  if (text.length > limits.documentTextUnitsMax) {
    throw new AppError(
      'too_large',
      `The document has ${text.length} characters of text; at most ${limits.documentTextUnitsMax} are allowed.`,
    );
  }
  return {
    type: content.type,
    pages,
    pageUnits: pages.map((page) => page.length),
    rawHash: createHash('sha256').update(text, 'utf8').digest('hex'),
    size: Buffer.byteLength(text),
  };
}

/** Errors: 400 for invalid details, `too_large` for the text or the file. */
export function analyzeParsed(content: APIParsedDocument, fileBytesMax: number): ParsedContent {
  checkParsedContent(content);
  const { pages, base64_data: data, sha256 } = content;
  const file = data === undefined ? { hash: sha256! } : { bytes: decodeFile(data, fileBytesMax) };
  return {
    text: analyzeText({ type: 'text-pages', pages }),
    file,
    details: {
      content_type: content.content_type ?? 'application/octet-stream',
      title: content.title?.toWellFormed() ?? null,
      language: content.language ?? null,
      warnings: (content.warnings ?? []).map((warning) => warning.toWellFormed()),
      headings: content.headings ?? true,
      unordered: content.unordered ?? false,
      has_page_images: content.has_page_images ?? false,
    },
  };
}

/** Restores the document as the service takes it. */
export function unpackDocument({ fields, content, vectors }: PackedDocument): Record<string, unknown> {
  const prepared = unpackContent(content);
  return Object.assign(JSON.parse(fields), { content: prepared }, ...vectors.map(unpackVectors));
}

function unpackContent(content: PackedDocument['content']): ContentInput {
  if ('details' in content) return new PreparedParsedFile(content);
  return content.type === 'auto' ? content : new PreparedText(content);
}

function unpackVectors({ field, lengths, numbers }: PackedVectors) {
  const vectors: Float64Array[] = [];
  let start = 0;
  for (const length of lengths) {
    vectors.push(numbers.subarray(start, start + length));
    start += length;
  }
  return field === 'vector' ? { vector: vectors[0] } : { vectors };
}

/** Errors: AppError for a vector that is not valid base64. */
export function packVectors(
  field: PackedVectors['field'],
  vectors: readonly (readonly number[] | string)[],
): PackedVectors {
  const numericVectors = vectors.map((vector, i) =>
    typeof vector === 'string' ? decodeVector(field === 'vector' ? field : `vectors[${i}]`, vector) : vector,
  );
  const lengths = Uint32Array.from(numericVectors, ({ length }) => length);
  const numbers = new Float64Array(lengths.reduce((sum, length) => sum + length, 0));
  let start = 0;
  for (const vector of numericVectors) {
    numbers.set(vector, start);
    start += vector.length;
  }
  return { field, lengths, numbers };
}
