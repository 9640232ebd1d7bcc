import { AppError } from '../base/app-error.ts';
import { isPacked, packTexts } from '../base/packed-texts.ts';
import { checkBatchSize, checkMetadata, checkPath } from '../schemas/checks.ts';
import { AddDocumentRequest, AddDocumentsRequest, BatchDocument } from '../schemas/documents.ts';
import {
  CohereRerankRequest,
  EmbedRequest,
  OpenAiEmbeddingsRequest,
  RerankRequest,
} from '../schemas/models.ts';
import { ParseDocumentRequest } from '../schemas/parsers.ts';
import { TopDocumentsRequest, TopPagesRequest, TopSnippetsRequest } from '../schemas/queries.ts';
import type { TObject } from '../schemas/typebox.ts';
import { compileValidator, type Validate } from '../schemas/validate.ts';
import { decodeFile } from './base64.ts';
import {
  type PackedDocument,
  packVectors,
  type Refusal,
  type RefusedDocument,
  refusalOf,
  type TextFacts,
  textFacts,
} from './prepared-document.ts';

/** What a worker does with the large body of a request: parse, validate, drop unknown fields, prepare the content. */
export interface PrepareTask {
  readonly operation: string;
  /** The body, in order. */
  readonly parts: readonly Uint8Array[];
  readonly fileBytesMax: number;
  readonly metadataBytesMax: number;
}

export type PrepareOutcome =
  | { readonly request: unknown }
  | { readonly document: PackedDocument; readonly rest: object }
  | { readonly documents: readonly (PackedDocument | RefusedDocument)[]; readonly rest: object }
  | { readonly refusal: Refusal };

/** Operations whose bodies may be large. */
const schemas = {
  'add-document': AddDocumentRequest,
  'add-documents': AddDocumentsRequest,
  'parse-document': ParseDocumentRequest,
  'top-documents': TopDocumentsRequest,
  'top-pages': TopPagesRequest,
  'top-snippets': TopSnippetsRequest,
  embed: EmbedRequest,
  rerank: RerankRequest,
  embeddings: OpenAiEmbeddingsRequest,
  'cohere-rerank': CohereRerankRequest,
} as const satisfies Readonly<Record<string, TObject>>;
type LargeOperation = keyof typeof schemas;

const validators = new Map<LargeOperation, Validate<unknown>>();
const validateBatchDocument = compileValidator(BatchDocument);

export function mayBeLarge(operation: string): boolean {
  return Object.hasOwn(schemas, operation);
}

/** `parse` makes a value of a JSON text. An `AppError` becomes a refusal, so that it keeps its meaning between threads. */
export function prepareRequest(task: PrepareTask, parse: (bytes: Buffer) => unknown): PrepareOutcome {
  try {
    return prepare(task, parse);
  } catch (error) {
    if (error instanceof AppError) return { refusal: refusalOf(error) };
    throw error;
  }
}

function prepare(task: PrepareTask, parse: (bytes: Buffer) => unknown): PrepareOutcome {
  const operation = task.operation as LargeOperation;
  const request = validatorOf(operation)(parse(Buffer.concat(task.parts))) as Record<string, unknown>;
  switch (operation) {
    case 'add-document': {
      const { collection_name, wait, ...document } = request as AddDocumentRequest;
      return { document: packDocument(document, task), rest: { collection_name, wait } };
    }
    case 'add-documents': {
      const { collection_name, wait, documents } = request as AddDocumentsRequest;
      checkBatchSize(documents.length);
      return {
        documents: documents.map((item) => packItem(item, task)),
        rest: { collection_name, wait },
      };
    }
    case 'parse-document': {
      const { base64_data } = request as ParseDocumentRequest;
      return { request: { base64_data: ownBytes(decodeFile(base64_data, task.fileBytesMax)) } };
    }
    default:
      return { request: knownFields(schemas[operation], request) };
  }
}

function validatorOf(operation: LargeOperation): Validate<unknown> {
  const known = validators.get(operation);
  if (known !== undefined) return known;
  const validate = compileValidator(schemas[operation], ['body']);
  validators.set(operation, validate);
  return validate;
}

function knownFields({ properties }: TObject, request: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(request).filter(([name]) => Object.hasOwn(properties, name)));
}

function packItem(item: unknown, task: PrepareTask): PackedDocument | RefusedDocument {
  try {
    return packDocument(validateBatchDocument(item), task);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const path = isObject(item) && typeof item.path === 'string' ? item.path : null;
    return { path, refusal: refusalOf(error) };
  }
}

function packDocument(
  { path, content, metadata, overwrite, vector, vectors }: BatchDocument,
  { fileBytesMax, metadataBytesMax }: PrepareTask,
): PackedDocument {
  checkPath(path);
  if (metadata !== undefined) checkMetadata(metadata, metadataBytesMax);
  return {
    fields: JSON.stringify({ path, metadata, overwrite }),
    content:
      content.type === 'auto'
        ? { type: 'auto', base64_data: ownBytes(decodeFile(content.base64_data, fileBytesMax)) }
        : packedText(textFacts(content)),
    vectors: [
      ...(vector === undefined ? [] : [packVectors('vector', [vector])]),
      ...(vectors === undefined ? [] : [packVectors('vectors', vectors)]),
    ],
  };
}

/** Its pages as one block, which moves between threads without a copy. */
function packedText(text: TextFacts): TextFacts {
  return { ...text, pages: isPacked(text.pages) ? text.pages : packTexts(text.pages) };
}

/** In a buffer of their own: short ones lie in a pool that must not move. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

/** Buffers of an outcome that move to the main thread. */
export function transferredBuffers(value: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  collect(value, buffers);
  return [...buffers];
}

function collect(value: unknown, buffers: Set<ArrayBuffer>): void {
  if (ArrayBuffer.isView(value)) {
    buffers.add(value.buffer as ArrayBuffer);
  } else if (Array.isArray(value)) {
    const [first] = value;
    if (typeof first === 'object' && first !== null) for (const item of value) collect(item, buffers);
  } else if (isObject(value)) {
    for (const item of Object.values(value)) collect(item, buffers);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
