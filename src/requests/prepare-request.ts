import { AppError } from '../core/app-error.ts';
import { isObject } from '../core/is-object.ts';
import { isPacked, packTexts } from '../core/packed-texts.ts';
import { checkBatchSize, checkMetadata, checkPath } from '../schemas/checks.ts';
import { type Cleaner, createCleaner } from '../schemas/cleaner.ts';
import type { DocumentContent } from '../schemas/document-content.ts';
import type { AddDocumentRequest, AddDocumentsRequest, BatchDocument } from '../schemas/documents.ts';
import type { ParseDocumentRequest } from '../schemas/parsers.ts';
import type { TSchema } from '../schemas/typebox.ts';
import { compileValidator, type Validator } from '../schemas/validate.ts';
import { decodeFile } from './base64.ts';
import { validateBatchItem } from './batch-item.ts';
import { mergeParams } from './path-fields.ts';
import {
  analyzeParsed,
  analyzeText,
  type PackedDocument,
  packVectors,
  type RejectedDocument,
  type SerializedError,
  serializeError,
  type TextContent,
} from './prepared-document.ts';

/** Work on a large request body in a worker: parse, validate, drop unknown fields, prepare the content. */
export interface PrepareTask {
  readonly operation: string;
  /** Schema of its request; JSON Schema, because hidden properties of TypeBox do not reach another thread. */
  readonly schema: TSchema;
  /** Parts of the body, in order. */
  readonly parts: readonly Uint8Array[];
  readonly fileBytesMax: number;
  /** Parameters of the path, which are fields of the request. */
  readonly params: Readonly<Record<string, string>>;
  readonly metadataBytesMax: number;
}

export type PrepareResult =
  | { readonly request: unknown }
  | { readonly document: PackedDocument; readonly rest: object }
  | { readonly documents: readonly (PackedDocument | RejectedDocument)[]; readonly rest: object }
  | { readonly error: SerializedError };

interface RequestChecks {
  readonly validate: Validator<unknown>;
  /** Null when a request can have no unknown fields. */
  readonly clean: Cleaner | null;
}

/** Compiled on first use, because a server uses few of the operations with large bodies. */
const checksByOperation = new Map<string, RequestChecks>();

/**
 * `parse` parses a JSON text. An `AppError` is returned serialized, so that it keeps its meaning across
 * threads.
 */
export function prepareRequest(task: PrepareTask, parse: (bytes: Buffer) => unknown): PrepareResult {
  try {
    return prepare(task, parse);
  } catch (error) {
    if (error instanceof AppError) return { error: serializeError(error) };
    throw error;
  }
}

function prepare(task: PrepareTask, parse: (bytes: Buffer) => unknown): PrepareResult {
  const { validate, clean } = checksOf(task);
  const request = validate(mergeParams(parse(Buffer.concat(task.parts)), task.params)) as Record<
    string,
    unknown
  >;
  switch (task.operation) {
    case 'add-document': {
      const { collection_name, wait, ...document } = request as AddDocumentRequest;
      checkPath(document.path);
      if (document.metadata !== undefined) checkMetadata(document.metadata, task.metadataBytesMax);
      return { document: packDocument(document, task), rest: { collection_name, wait } };
    }
    case 'add-documents': {
      const { collection_name, wait, documents } = request as AddDocumentsRequest;
      checkBatchSize(documents.length);
      return {
        documents: documents.map((item) => packBatchItem(item, task)),
        rest: { collection_name, wait },
      };
    }
    case 'parse-document': {
      const { base64_data } = request as ParseDocumentRequest;
      return { request: { base64_data: toTransferableBytes(decodeFile(base64_data, task.fileBytesMax)) } };
    }
    default:
      return { request: clean === null ? request : clean(request) };
  }
}

function checksOf({ operation, schema }: PrepareTask): RequestChecks {
  const cached = checksByOperation.get(operation);
  if (cached !== undefined) return cached;
  const checks = { validate: compileValidator(schema, ['body']), clean: createCleaner(schema) };
  checksByOperation.set(operation, checks);
  return checks;
}

function packBatchItem(item: unknown, task: PrepareTask): PackedDocument | RejectedDocument {
  try {
    return packDocument(validateBatchItem(item, task.metadataBytesMax), task);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const path = isObject(item) && typeof item.path === 'string' ? item.path : null;
    return { path, error: serializeError(error) };
  }
}

function packDocument(
  { path, content, metadata, overwrite, expires_at, vector, vectors }: BatchDocument,
  { fileBytesMax }: PrepareTask,
): PackedDocument {
  return {
    path,
    fields: JSON.stringify({ path, metadata, overwrite, expires_at }),
    content: packContent(content, fileBytesMax),
    vectors: [
      ...(vector === undefined ? [] : [packVectors('vector', [vector])]),
      ...(vectors === undefined ? [] : [packVectors('vectors', vectors)]),
    ],
  };
}

function packContent(content: DocumentContent, fileBytesMax: number): PackedDocument['content'] {
  if (content.type === 'auto')
    return {
      type: 'auto',
      base64_data: toTransferableBytes(decodeFile(content.base64_data, fileBytesMax)),
    };
  if (content.type !== 'parsed') return packedText(analyzeText(content));
  const { text, file, details } = analyzeParsed(content, fileBytesMax);
  return {
    text: packedText(text),
    file: 'hash' in file ? file : { bytes: toTransferableBytes(file.bytes) },
    details,
  };
}

/** Packs the pages into one block, which is transferred between threads without a copy. */
function packedText(text: TextContent): TextContent {
  return { ...text, pages: isPacked(text.pages) ? text.pages : packTexts(text.pages) };
}

/**
 * Returns the bytes in a separate buffer; short ones are in a pooled buffer, which must not be
 * transferred.
 */
function toTransferableBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

/** Returns the buffers of an outcome that can be transferred to the main thread. */
export function collectTransferables(value: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  collectBuffers(value, buffers);
  return [...buffers];
}

function collectBuffers(value: unknown, buffers: Set<ArrayBuffer>): void {
  if (ArrayBuffer.isView(value)) {
    buffers.add(value.buffer as ArrayBuffer);
  } else if (Array.isArray(value)) {
    const [first] = value;
    if (typeof first === 'object' && first !== null) for (const item of value) collectBuffers(item, buffers);
  } else if (isObject(value)) {
    for (const item of Object.values(value)) collectBuffers(item, buffers);
  }
}
