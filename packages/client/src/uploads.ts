import type { AddDocumentResponse, DocumentMetadataJson } from './generated/schemas.ts';
import { type CallOptions, encodeSegment, type RequestBody, type Transport } from './transport.ts';

/**
 * Content of a document. Streams are sent without being held in memory, in Node.js, Deno and Bun; browsers send them only
 * over HTTP/2. A stream of Node.js, such as `createReadStream(path)`, is an async iterable.
 */
export type UploadContent =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<string | Uint8Array>;

interface UploadOptions {
  readonly collection_name: string;
  /** Path of the document inside its collection; its extension helps to detect the format. */
  readonly path: string;
  /** Attributes of the document. */
  readonly metadata?: DocumentMetadataJson | undefined;
  /** Replace an existing document. Default: false, which is a 409 for an existing document. */
  readonly overwrite?: boolean | undefined;
  /** Reply when the document is indexed or has failed. Default: false. */
  readonly wait?: boolean | undefined;
}

export interface PutDocumentRequest extends UploadOptions {
  /** A function that returns the content allows retries of a stream, which can be read only once. */
  readonly content: UploadContent | (() => UploadContent);
}

export interface UploadDocumentRequest extends UploadOptions {
  readonly file: Blob;
}

export async function putDocument(
  transport: Transport,
  request: PutDocumentRequest,
  options?: CallOptions,
): Promise<AddDocumentResponse> {
  const { collection_name, path, content, metadata, overwrite, wait } = request;
  return transport.call(
    {
      method: 'PUT',
      path: `/v1/documents/${encodeSegment(collection_name)}/${encodeSegment(path)}`,
      query: { overwrite, wait },
      headers: {
        'content-type': 'application/octet-stream',
        ...(metadata === undefined ? {} : { 'x-quarry-metadata': encodeBase64Url(JSON.stringify(metadata)) }),
      },
      body: {
        create: () => toBody(typeof content === 'function' ? content() : content),
        isRepeatable: typeof content === 'function' || !isStream(content),
      },
      isRead: false,
    },
    options,
  );
}

export function uploadDocument(
  transport: Transport,
  request: UploadDocumentRequest,
  options?: CallOptions,
): Promise<AddDocumentResponse> {
  const { collection_name, path, file, metadata, overwrite, wait } = request;
  const create = () => {
    const form = new FormData();
    form.append('collection_name', collection_name);
    form.append('path', path);
    if (metadata !== undefined) form.append('metadata', JSON.stringify(metadata));
    if (overwrite !== undefined) form.append('overwrite', String(overwrite));
    if (wait !== undefined) form.append('wait', String(wait));
    // The last part, so that the server knows the other fields before it stores the file.
    form.append('file', file, 'file');
    return form;
  };
  return transport.call(
    { method: 'POST', path: '/v1/documents/upload', body: { create, isRepeatable: true }, isRead: false },
    options,
  );
}

function isStream(content: UploadContent): boolean {
  return content instanceof ReadableStream || isAsyncIterable(content);
}

function isAsyncIterable(content: UploadContent): content is AsyncIterable<string | Uint8Array> {
  return typeof content === 'object' && Symbol.asyncIterator in content;
}

function toBody(content: UploadContent): RequestBody {
  if (content instanceof ReadableStream || !isAsyncIterable(content)) return content as RequestBody;
  const parts = content[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
    },
    async cancel(reason) {
      await parts.return?.(reason);
    },
  });
}

/** base64url of UTF-8. */
function encodeBase64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
