import { createHash } from 'node:crypto';
import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import type { Texts } from '../base/packed-texts.ts';
import type { APIBinaryDocument, DocumentContent } from '../schemas/documents.ts';
import { vectorFloats } from './base64.ts';

/** What is known of a text: all that takes time for a long one. */
export interface TextFacts {
  readonly type: Exclude<DocumentContent, APIBinaryDocument>['type'];
  /** Packed where a worker made them; a text made on the main thread is short and stays as it is. */
  readonly pages: Texts;
  /** UTF-16 code units of each page. */
  readonly pageUnits: readonly number[];
  /** SHA-256 of the pages joined by empty lines, lower-case hex. */
  readonly rawHash: string;
  /** Bytes of the same text. */
  readonly size: number;
}

/** Text that a worker prepared. A class, because no JSON of a caller can make an instance. */
export class PreparedText {
  readonly type: TextFacts['type'];
  readonly facts: TextFacts;

  constructor(facts: TextFacts) {
    this.type = facts.type;
    this.facts = facts;
  }
}

/** A file that a worker decoded. */
interface PreparedFile {
  readonly type: 'auto';
  readonly base64_data: Uint8Array;
}

/** Content of a document, as it came or as a worker prepared it. */
export type GivenContent = DocumentContent | PreparedText | PreparedFile;

/** A vector as it came, or its numbers. */
export type GivenVector = readonly number[] | string | Float64Array;

/** One document as a worker packs it: its short fields as JSON, so that each of a batch is parsed in its own turn. */
export interface PackedDocument {
  readonly fields: string;
  readonly content: TextFacts | PreparedFile;
  /** Of its fields `vector` and `vectors`, where it has them. */
  readonly vectors: readonly PackedVectors[];
}

/** A document of a batch that was refused, and why. */
export interface RefusedDocument {
  readonly path: string | null;
  readonly refusal: Refusal;
}

/** An item of a batch that a worker prepared. A class for the reason that `PreparedText` gives. */
export class PreparedItem {
  readonly #packed: PackedDocument | RefusedDocument;

  constructor(packed: PackedDocument | RefusedDocument) {
    this.#packed = packed;
  }

  /** Null for an item that names none. */
  get path(): string | null {
    return 'refusal' in this.#packed ? this.#packed.path : JSON.parse(this.#packed.fields).path;
  }

  /** Throws what is wrong with the document. */
  unpack(): Record<string, unknown> {
    if ('refusal' in this.#packed) throw errorOf(this.#packed.refusal);
    return unpackDocument(this.#packed);
  }
}

/** An `AppError` between threads. */
export interface Refusal {
  readonly code: AppError['code'];
  readonly detail: string;
  readonly options: Pick<AppError['options'], 'issues'>;
}

/** Vectors one after the other. */
interface PackedVectors {
  readonly field: 'vector' | 'vectors';
  readonly lengths: Uint32Array;
  readonly numbers: Float64Array;
}

export function refusalOf(error: AppError): Refusal {
  const { issues } = error.options;
  return { code: error.code, detail: error.message, options: issues === undefined ? {} : { issues } };
}

export function errorOf({ code, detail, options }: Refusal): AppError {
  return new AppError(code, detail, options);
}

/** Throws `too_large`. */
export function textFacts(content: Exclude<DocumentContent, APIBinaryDocument>): TextFacts {
  const given = content.type === 'text' ? [content.text] : content.pages;
  if (given.length > limits.textPagesMax) {
    throw new AppError(
      'too_large',
      `The document has ${given.length} pages; at most ${limits.textPagesMax} are allowed.`,
    );
  }
  const pages = given.map((page) => page.toWellFormed());
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

/** The document as the service takes it. */
export function unpackDocument({ fields, content, vectors }: PackedDocument): Record<string, unknown> {
  const prepared = content.type === 'auto' ? content : new PreparedText(content);
  return Object.assign(JSON.parse(fields), { content: prepared }, ...vectors.map(unpackVectors));
}

function unpackVectors({ field, lengths, numbers }: PackedVectors) {
  const made: Float64Array[] = [];
  let start = 0;
  for (const length of lengths) {
    made.push(numbers.subarray(start, start + length));
    start += length;
  }
  return field === 'vector' ? { vector: made[0] } : { vectors: made };
}

/** Throws `AppError` for a vector in base64 that is none. */
export function packVectors(
  field: PackedVectors['field'],
  vectors: readonly (readonly number[] | string)[],
): PackedVectors {
  const each = vectors.map((vector, i) =>
    typeof vector === 'string' ? vectorFloats(field === 'vector' ? field : `vectors[${i}]`, vector) : vector,
  );
  const lengths = Uint32Array.from(each, ({ length }) => length);
  const numbers = new Float64Array(lengths.reduce((sum, length) => sum + length, 0));
  let start = 0;
  for (const vector of each) {
    numbers.set(vector, start);
    start += vector.length;
  }
  return { field, lengths, numbers };
}
