import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type {
  ExportDocumentsRequest,
  ExportDocumentsResponse,
  ExportedDocument,
} from '../schemas/exports.ts';
import { type Layout, pageParts } from '../storage/chunks.ts';
import { type Collection, type Collections, getGeneration, hasOwnVectors } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import type { ParsedHead } from '../storage/parsed-pages.ts';
import type { TextParts } from '../storage/text-parts.ts';
import type { Versions } from '../storage/versions.ts';
import { accessCollection, type CollectionAccess, type DocumentCall } from './document-access.ts';
import type { DocumentUrls } from './document-urls.ts';
import { appendText, type JsonChunk, RenderedJson } from './rendered-json.ts';

export interface DocumentExportServicesOptions {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly documentUrls: DocumentUrls;
}

/** Properties of the text of a document, and its pages. */
interface StoredText {
  readonly details: Pick<ParsedHead, 'title' | 'language' | 'warnings' | 'unordered' | 'headings'>;
  readonly pages: Iterable<TextParts>;
  /** Base64 of the vector of each page, in a collection with vectors supplied by the caller. */
  readonly vectors: readonly string[] | null;
}

const documentsDefault = 64;
/** Attempts to read a document that is replaced repeatedly. */
const attemptsMax = 3;

/** Exports documents in the format in which `add-documents` accepts them, without parsing them again. */
export class DocumentExportServices {
  readonly #options: DocumentExportServicesOptions;

  constructor(options: DocumentExportServicesOptions) {
    this.#options = options;
  }

  async exportDocuments(
    call: DocumentCall,
    request: ExportDocumentsRequest,
  ): Promise<RenderedJson<ExportDocumentsResponse>> {
    const { collections, documents } = this.#options;
    const { yieldToEventLoop, cancellation } = call;
    const access = accessCollection(collections, call, request.collection_name);
    const limit = request.limit ?? documentsDefault;
    const chunks: JsonChunk[] = [];
    let bytes = 0;
    let count = 0;
    for await (const { path } of documents.list(access.collection.collectionId, {
      ...(request.path_prefix == null ? {} : { prefix: request.path_prefix }),
      ...(request.path_gt == null ? {} : { pathGt: request.path_gt }),
    })) {
      // A caller that may read few documents can force a scan of all of them; stop when the call is canceled.
      if (cancellation.isCanceled) break;
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      const rendered = await this.#render(call, access, path);
      if (rendered === null) continue;
      chunks.push(count === 0 ? '' : ',', ...rendered);
      for (const chunk of rendered) bytes += chunk.length;
      count += 1;
      if (count === limit || bytes >= limits.exportBytesTarget) break;
    }
    return new RenderedJson(['{"documents":[', ...chunks, ']}']);
  }

  /** Returns null for a document that was deleted meanwhile or that the caller may not read. */
  async #render(call: DocumentCall, access: CollectionAccess, path: string): Promise<JsonChunk[] | null> {
    const { documents } = this.#options;
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const record = documents.get(access.collection.collectionId, path);
      if (record === undefined || !access.isVisible(record)) return null;
      const text = await this.#readText(access.collection, record);
      if (text === null) {
        const isFile = record.contentKind === 'auto';
        const current = documents.get(access.collection.collectionId, path);
        // The content of a text, or of a parsed file, is missing only after a replacement.
        if (current?.documentId !== record.documentId) continue;
        if (isFile) return [`${this.#fieldsOf(call, record)},"content":null}`];
        continue;
      }
      const chunks: JsonChunk[] = [this.#fieldsOf(call, record)];
      await this.#appendContent(chunks, call, record, text);
      chunks.push('}');
      if (documents.get(access.collection.collectionId, path)?.documentId === record.documentId)
        return chunks;
    }
    return null;
  }

  /** Returns the JSON of all fields except the content, without the final brace. */
  #fieldsOf({ baseUrl }: DocumentCall, record: DocumentRecord): string {
    const fields: Omit<ExportedDocument, 'content' | 'vector' | 'vectors'> = {
      path: record.path,
      metadata: record.metadata as ExportedDocument['metadata'],
      sha256: record.rawHash,
      size: record.size,
      file_url:
        record.contentKind === 'auto' ? this.#options.documentUrls.fileUrl(baseUrl, record.documentId) : null,
      index_status: record.status,
      error: record.error?.message ?? null,
      error_code: record.error?.code ?? null,
      created_at: toTimestamp(record.createdAt),
      ...(record.expiresAt === undefined ? {} : { expires_at: toTimestamp(record.expiresAt) }),
    };
    return JSON.stringify(fields).slice(0, -1);
  }

  async #appendContent(
    chunks: JsonChunk[],
    { yieldToEventLoop }: DocumentCall,
    record: DocumentRecord,
    { details, pages, vectors }: StoredText,
  ): Promise<void> {
    const { contentKind, contentType } = record;
    if (contentKind === 'text') {
      chunks.push(',"content":{"type":"text","text":');
      for (const page of pages) await appendText(chunks, page, yieldToEventLoop);
    } else {
      chunks.push(`,"content":{"type":"${contentKind === 'auto' ? 'parsed' : contentKind}","pages":[`);
      let separator = '';
      for (const page of pages) {
        chunks.push(separator);
        await appendText(chunks, page, yieldToEventLoop);
        separator = ',';
      }
      chunks.push(']');
    }
    if (contentKind === 'auto') {
      const version = this.#options.versions.get(record.collectionId, record.version);
      const has_page_images = version?.hasImages ?? false;
      chunks.push(
        `,${JSON.stringify({ ...details, content_type: contentType, has_page_images }).slice(1, -1)}`,
      );
    }
    chunks.push('}');
    if (vectors === null) return;
    const field = contentKind === 'text' ? { vector: vectors[0] } : { vectors };
    chunks.push(`,${JSON.stringify(field).slice(1, -1)}`);
  }

  /** Returns null if the document has no text yet, or was deleted. */
  async #readText(collection: Collection, record: DocumentRecord): Promise<StoredText | null> {
    const { contents } = this.#options;
    const { documentId, status } = record;
    if (status === 'not_parsed' || status === 'parsing' || status === 'parsing_failed') return null;
    const head = contents.parsed.readHead(documentId);
    if (head !== undefined) {
      // Read in the same turn as the head: the chunk step deletes both at once.
      const vectors = hasOwnVectors(collection)
        ? Array.from({ length: head.pageCount }, (_, page) =>
            toBase64(contents.parsed.readSuppliedVector(documentId, page)),
          )
        : null;
      const pages = await contents.parsed.readPages(documentId, head.pageCount);
      // Fewer pages: they were replaced by chunks after the head was read.
      if (pages.length === head.pageCount) return { details: detailsOf(head), pages, vectors };
    }
    const layout = contents.chunks.readLayout(documentId);
    if (layout === undefined) return null;
    const headings = layout.headings ?? (await this.#hasHeadingPaths(documentId, layout));
    return {
      details: detailsOf({ ...layout, headings, warnings: layout.warnings ?? [] }),
      pages: this.#pagesOf(documentId, layout),
      vectors: hasOwnVectors(collection) ? await this.#readPageVectors(collection, documentId, layout) : null,
    };
  }

  *#pagesOf(documentId: string, layout: Layout): Generator<TextParts> {
    const { chunks } = this.#options.contents;
    const read = (numbers: readonly number[]) => chunks.read(numbers.map((chunk) => ({ documentId, chunk })));
    for (let page = 0; page < layout.pageStarts.length; page += 1)
      yield pageParts(layout, page, read) ?? [''];
  }

  /** For documents chunked before `headings` was recorded: whether a snippet has a heading as context. */
  async #hasHeadingPaths(documentId: string, { chunkStarts }: Layout): Promise<boolean> {
    const { chunks } = this.#options.contents;
    for (let chunk = 0; chunk < chunkStarts.length; chunk += 1) {
      const [found] = chunks.read([{ documentId, chunk }]);
      if (found?.prefix.includes(' > ') === true) return true;
      await nextTurn();
    }
    return false;
  }

  /** Each row has the vector of its page; a page without words has no row and gets an arbitrary vector. */
  async #readPageVectors(
    collection: Collection,
    documentId: string,
    { pageStarts }: Layout,
  ): Promise<string[] | null> {
    const { blocks, chunks } = this.#options.contents;
    const { dimensions } = collection;
    const arbitrary = new Float32Array(dimensions);
    arbitrary[0] = 1;
    const vectors = Array.from(pageStarts, () => '');
    const block = await blocks.readBlock(documentId, getGeneration(collection));
    for (const [row, chunk] of (block?.chunkOfRow ?? []).entries()) {
      const page = chunks.read([{ documentId, chunk }])[0]?.pageStart;
      if (page !== undefined && vectors[page] === '')
        vectors[page] = toBase64(block!.vectors.subarray(row * dimensions, (row + 1) * dimensions));
      if (row % rowsPerTurn === rowsPerTurn - 1) await nextTurn();
    }
    return vectors.map((vector) => (vector === '' ? toBase64(arbitrary) : vector));
  }
}

/** Rows read per turn of the event loop, about a millisecond. */
const rowsPerTurn = 32;

function detailsOf({ title, language, warnings, unordered, headings }: StoredText['details']) {
  return { title, language, warnings, unordered, headings };
}

function toBase64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
}
