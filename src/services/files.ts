import { AppError } from '../core/app-error.ts';
import type { PageImages } from '../ingest/page-images.ts';
import type { Blobs } from '../storage/blobs.ts';
import type { Collections } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Documents } from '../storage/documents.ts';
import { isExpired } from '../storage/expirations.ts';
import { readToken } from '../storage/tokens.ts';
import type { VersionRecord, Versions } from '../storage/versions.ts';
import type { ServiceCall } from './call.ts';
import { readDocumentText } from './document-text.ts';

export interface FileServicesOptions {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly blobs: Blobs;
  readonly images: Pick<PageImages, 'get'>;
  /** Secrets of the installation; tokens issued with any of them are accepted. */
  readonly secrets: readonly Uint8Array[];
}

/** Raw document, ready to send. */
export interface RawDocument {
  /** Size in bytes. */
  readonly size: number;
  readonly contentType: string;
  /** File name offered for download. */
  readonly filename: string;
  /** Entity tag without quotes, which changes with the bytes. */
  readonly etag: string;
  /** Streams bytes `[start, end)`. Called at most once; returned early when the client disconnects. */
  readonly open: (range: { readonly start: number; readonly end: number }) => AsyncIterable<Uint8Array>;
}

export interface PageImage {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Bytes read from a file at a time. */
const chunkBytes = 262_144;

/** Serves raw documents and page images by token. */
export class FileServices {
  readonly #options: FileServicesOptions;

  constructor(options: FileServicesOptions) {
    this.#options = options;
  }

  /** Errors: `not_found` when the token is unknown, or its document was deleted or replaced. */
  async getDocumentFile(
    { yieldToEventLoop, now }: Pick<ServiceCall, 'yieldToEventLoop' | 'now'>,
    token: string,
  ): Promise<RawDocument> {
    const { contents, blobs } = this.#options;
    const version = this.#findVersion(token, 'file', now());
    const { path, contentType, rawHash, documentId } = version;
    const filename = path.split('/').at(-1) || 'document';
    const size = await blobs.size(rawHash);
    if (size !== null) {
      return {
        size,
        contentType,
        filename,
        etag: rawHash,
        open: (range) => streamBlob(blobs, rawHash, range),
      };
    }
    // The text variants have no file: their raw bytes are the joined text.
    const text = await readDocumentText(contents, documentId);
    if (text === null) throw tokenNotFoundError();
    const parts: Buffer[] = [];
    let bytes = 0;
    for (const part of text) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      parts.push(Buffer.from(part));
      bytes += parts.at(-1)!.byteLength;
    }
    return { size: bytes, contentType, filename, etag: rawHash, open: (range) => readParts(parts, range) };
  }

  /**
   * `width`: minimum width in pixels, where possible; null for the default size. Errors: `not_found` as in
   * `getDocumentFile`, and for a page without an image.
   */
  async getPageImage(
    { cancellation: caller, now }: Pick<ServiceCall, 'cancellation' | 'now'>,
    token: string,
    width: number | null = null,
  ): Promise<PageImage> {
    const { rawHash, page, hasImages, organizationId } = this.#findVersion(token, 'page', now());
    const request = { organizationId, rawHash, page, width, caller };
    const bytes = hasImages ? await this.#options.images.get(request) : null;
    if (bytes === null) throw new AppError('not_found', 'This page has no image.');
    return { bytes, contentType: 'image/jpeg' };
  }

  /** Returns the version of a token: the current one of its document, or the one that search still serves. */
  #findVersion(
    token: string,
    kind: 'file' | 'page',
    now: number,
  ): VersionRecord & { readonly page: number; readonly organizationId: string } {
    const { secrets, collections, documents, versions } = this.#options;
    const fileToken = readToken(secrets, token);
    if (fileToken === null || fileToken.kind !== kind) throw tokenNotFoundError();
    const record = documents.findById(fileToken.documentId);
    // The documents of a deleted collection are garbage-collected later.
    const collection = record === undefined ? undefined : collections.findById(record.collectionId);
    if (record === undefined || collection === undefined || isExpired(record, now))
      throw tokenNotFoundError();
    const versionNumber = record.documentId === fileToken.documentId ? record.version : record.live;
    const version = versionNumber === null ? undefined : versions.get(record.collectionId, versionNumber);
    if (version === undefined) throw tokenNotFoundError();
    const { organizationId } = collection;
    return { ...version, page: fileToken.kind === 'page' ? fileToken.page : 0, organizationId };
  }
}

function tokenNotFoundError(): AppError {
  return new AppError('not_found', 'Invalid token: it is unknown, or its document was deleted or replaced.');
}

async function* readParts(
  parts: readonly Uint8Array[],
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Uint8Array, void, void> {
  let at = 0;
  for (const part of parts) {
    const wanted = part.subarray(Math.max(0, start - at), Math.max(0, end - at));
    if (wanted.byteLength > 0) yield wanted;
    at += part.byteLength;
  }
}

async function* streamBlob(
  blobs: Blobs,
  hash: string,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Uint8Array, void, void> {
  const file = await blobs.open(hash);
  if (file === null) throw tokenNotFoundError();
  try {
    for (let at = start; at < end; ) {
      const { bytesRead, buffer } = await file.read(
        Buffer.allocUnsafe(Math.min(chunkBytes, end - at)),
        0,
        null,
        at,
      );
      if (bytesRead === 0) throw new Error(`the file ${hash} ends before byte ${end}`);
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}
