import type { Clock } from '../base/clock.ts';
import { countOfTexts, isPacked, type Texts } from '../base/packed-texts.ts';
import { collectInTurns, type Turns } from '../base/turns.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import { type Collection, type Collections, ownVectors } from '../store/collections.ts';
import type { Contents, IndexBlock, Layout, NewChunk, ParsedHead } from '../store/content.ts';
import type { Counts } from '../store/counts.ts';
import type { DocumentError, DocumentRecord, Documents } from '../store/documents.ts';
import { putGarbage } from '../store/garbage.ts';
import { deleteJob, type Job, putJob } from '../store/jobs.ts';
import { type Operation, operationsBytes, type SpaceGuard, type Store } from '../store/store.ts';
import type { Versions } from '../store/versions.ts';
import type { DocumentEvent } from './document-event.ts';
import { pathKey } from './document-writer.ts';
import { shardOf } from './shard-of.ts';
import type { Switchboard } from './switchboard.ts';

/** The version is not wanted any more: its document was deleted, overwritten or updated, or its collection is gone. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
  constructor() {
    super('the work on this version is not wanted any more');
  }
}

export interface DocumentProgressOptions {
  readonly store: Store;
  readonly documents: Documents;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly counts: Counts;
  readonly switchboard: Switchboard;
  /** Refuses while the disk is nearly full. */
  readonly space: SpaceGuard;
  /** The same locks as the document writer's. */
  readonly locks: KeyedMutex;
  readonly clock: Clock;
  readonly count: (event: DocumentEvent) => Operation[];
  readonly turns: Pick<Turns, 'slice'>;
}

export interface ParsedText {
  readonly head: ParsedHead;
  readonly pages: Texts;
  /** Page images can be drawn from the file. */
  readonly hasImages: boolean;
  readonly timeTakenMs: number;
}

export interface ChunkedContent {
  readonly chunks: readonly NewChunk[];
  /** 8-bit vectors of the precise chunks, per chunk; undefined for one without. */
  readonly codes: readonly (Uint8Array | undefined)[];
  readonly layout: Layout;
  readonly block: IndexBlock;
  readonly languages: readonly string[];
  readonly tokens: { readonly content: number; readonly embedding: number };
  readonly timeTakenMs: number;
}

/** Numbers of one precise chunk in `NewChunk.spans`. */
const spanNumbers = 4;

/** Bytes of one write while large content is stored piece by piece. */
const writeBytesTarget = 4_000_000;

/**
 * How a version moves on: every method is one durable step that leaves the document in a state from which the next
 * attempt can go on. All throw `Abandoned` when the version is no longer the current one of its path.
 */
export class DocumentProgress {
  readonly #options: DocumentProgressOptions;
  /** Languages per collection while some of them are not stored yet. */
  readonly #languages = new Map<string, Set<string>>();

  constructor(options: DocumentProgressOptions) {
    this.#options = options;
  }

  /** The record of a job's document. */
  current(job: Job): DocumentRecord {
    this.#collection(job);
    const record = this.#options.documents.get(job.collectionId, job.path);
    if (record?.version !== job.version) throw new Abandoned();
    return record;
  }

  /** The documents of a deleted collection are swept later. */
  #collection({ collectionId }: Job): Collection {
    const collection = this.#options.collections.byId(collectionId);
    if (collection === undefined) throw new Abandoned();
    return collection;
  }

  /** Throws `AppError` while the result of a step could not be stored: so nobody does the work in vain, again and again. */
  requireRoom(): void {
    this.#options.space.check();
  }

  /** Shows that work on the step has begun. */
  async begin(job: Job, status: 'parsing' | 'indexing'): Promise<void> {
    if (this.current(job).status === status) return;
    await this.#advance(job, (record) => ({ record: { ...record, status }, operations: [] }));
  }

  /** The text of a file is known: stores its pages. Answers the job that comes next. */
  async parsed(job: Job, { head, pages, hasImages, timeTakenMs }: ParsedText): Promise<Job> {
    const { contents, versions } = this.#options;
    const rest = await this.#writeInPieces(job, this.#pageEntries(job, pages));
    const [pageCount, textBytes] = [countOfTexts(pages), joinedBytes(pages)];
    const next: Job = { ...job, step: 'chunk', attempts: 0, notBefore: 0 };
    await this.#advance(job, (record) => {
      const version = versions.get(job.collectionId, job.version);
      const { contentType } = head;
      return {
        record: {
          ...record,
          status: 'not_indexed',
          numPages: pageCount,
          textBytes,
          contentType,
        },
        operations: [
          ...rest,
          contents.putParsedHead(job.documentId, head),
          ...(version === undefined ? [] : [versions.put({ ...version, contentType, hasImages })]),
          putJob(next),
          ...this.#count(job, record, { event: 'parsed', pages: pageCount, timeTakenMs }),
        ],
      };
    });
    return next;
  }

  /** The chunks and their vectors are known: stores them instead of the parsed pages. Answers the job that comes next. */
  async chunked(job: Job, content: ChunkedContent): Promise<Job> {
    const rest = await this.#writeInPieces(job, this.#contentEntries(job, content));
    const next: Job = { ...job, step: 'index', attempts: 0, notBefore: 0 };
    const deleted = await collectInTurns(this.#options.turns, this.#deleteParsed(job, content));
    await this.#advance(job, (record) => ({
      record,
      operations: [...rest, ...deleted, ...this.#noteContent(job, record, content), putJob(next)],
    }));
    return next;
  }

  /**
   * Stores what was made of a small document beside its parsed pages, in one write. No step is done by that: `indexed`
   * with the same content is the next one, and an attempt that never gets there leaves what the next attempt replaces.
   */
  async prepared(job: Job, content: ChunkedContent): Promise<void> {
    const operations = [...this.#expected(job), ...[...this.#contentEntries(job, content)].flat()];
    await this.#options.store.write(operations, { mayUseReserve: true, mayExceedQueue: true });
  }

  /**
   * The staged version becomes what search answers from, and the one before it goes. The job is done. `content`: what was
   * `prepared` and now takes the place of the parsed pages; null when the chunk step did that.
   */
  indexed(job: Job, content: ChunkedContent | null): Promise<void> {
    return this.#advance(job, (record) => {
      const { version, documentId, live } = record;
      const shard = shardOf(job.path, this.#collection(job).shards);
      return {
        record: {
          ...record,
          status: 'indexed',
          error: null,
          live: version,
          liveDocumentId: documentId,
          indexedBytes: record.textBytes,
        },
        change: { collectionId: job.collectionId, shard, add: { version, documentId }, remove: live },
        operations: [
          deleteJob(version),
          ...(content === null
            ? []
            : [...this.#deleteParsed(job, content), ...this.#noteContent(job, record, content)]),
          ...this.#retireLive(record),
        ],
      };
    });
  }

  /** The version cannot be parsed or indexed. What search answered from until now leaves search. The job is done. */
  failed(job: Job, status: 'parsing_failed' | 'indexing_failed', error: DocumentError): Promise<void> {
    const { versions } = this.#options;
    return this.#advance(job, (record) => {
      const { live } = record;
      const shard = live === null ? 0 : (versions.get(job.collectionId, live)?.shard ?? 0);
      const numPages = status === 'parsing_failed' ? null : record.numPages;
      return {
        record: { ...record, status, error, live: null, liveDocumentId: null, indexedBytes: 0, numPages },
        change: { collectionId: job.collectionId, shard, add: null, remove: live },
        operations: [deleteJob(job.version), ...this.#retireLive(record)],
      };
    });
  }

  /** The attempt failed and will be made again. */
  async postponed(job: Job): Promise<void> {
    await this.#advance(job, (record) => ({
      record: { ...record, attempts: job.attempts },
      operations: [putJob(job)],
    }));
  }

  /** The chunks of a document and what belongs to them, each entry in one write; the last says that all are there. */
  *#contentEntries(
    { documentId }: Job,
    { chunks, codes, layout, block }: ChunkedContent,
  ): Generator<Operation[]> {
    const { contents } = this.#options;
    for (const [i, chunk] of chunks.entries()) {
      const codesOfChunk = codes[i];
      const put = contents.putChunk(documentId, i, chunk);
      if (codesOfChunk === undefined) yield [put];
      else yield [put, contents.putCodes(documentId, i, codesOfChunk, block.generation)];
    }
    for (const put of contents.putIndexPieces(documentId, block)) yield [put];
    yield [contents.putLayout(documentId, layout), contents.putIndexHead(documentId, block)];
  }

  *#pageEntries({ documentId }: Job, pages: Texts): Generator<Operation[]> {
    for (const put of this.#options.contents.putParsedPages(documentId, pages)) yield [put];
  }

  /** From now on the chunks hold the text. */
  #deleteParsed({ documentId }: Job, { layout, block }: ChunkedContent): Iterable<Operation> {
    const vectors = block.model === ownVectors;
    return this.#options.contents.deleteParsed(documentId, layout.pageStarts.length, { vectors });
  }

  /** What the collection and its figures say of the chunks. */
  #noteContent(job: Job, record: DocumentRecord, content: ChunkedContent): Operation[] {
    const { chunks, tokens, timeTakenMs, languages } = content;
    return [
      ...this.#learnLanguages(job, languages),
      ...this.#count(job, record, {
        event: 'indexed',
        contentTokens: tokens.content,
        embeddingTokens: tokens.embedding,
        coarseChunks: chunks.length,
        preciseChunks: chunks.reduce((sum, chunk) => sum + chunk.spans.length / spanNumbers, 0),
        timeTakenMs,
      }),
    ];
  }

  /** Languages that queries of a collection have to consider from now on. */
  #learnLanguages(job: Job, languages: readonly string[]): Operation[] {
    const { collections } = this.#options;
    const { collectionId } = job;
    const collection = this.#collection(job);
    // Writes of other documents may be on their way: what they add must not be lost by this one. They may also
    // fail: only what is stored counts as known.
    const stored = new Set(collection.languages);
    const union = new Set([...stored, ...(this.#languages.get(collectionId) ?? []), ...languages]);
    if (union.size === stored.size) this.#languages.delete(collectionId);
    else this.#languages.set(collectionId, union);
    if (languages.every((language) => stored.has(language))) return [];
    return collections.update({ ...collection, languages: [...union] });
  }

  /** Drops the version that search answered from; running queries may still read it for a while. */
  #retireLive(record: DocumentRecord): Operation[] {
    const { versions, documents, clock } = this.#options;
    const { collectionId, live, liveDocumentId, documentId } = record;
    if (live === null || live === record.version) return [];
    const old = versions.get(collectionId, live);
    const replaced = liveDocumentId !== null && liveDocumentId !== documentId;
    return [
      ...(replaced ? [documents.forgetId(liveDocumentId)] : []),
      putGarbage(
        {
          collectionId,
          version: live,
          content:
            replaced && old !== undefined ? { documentId: liveDocumentId, rawHash: old.rawHash } : null,
        },
        clock.now(),
      ),
    ];
  }

  /** Changes the record of a job's document as one step, unless the document has moved on. */
  #advance(
    job: Job,
    decide: (record: DocumentRecord) => {
      record: DocumentRecord;
      operations: Operation[];
      change?: Parameters<Switchboard['apply']>[0];
    },
  ): Promise<void> {
    const { locks, documents, counts, switchboard } = this.#options;
    return locks.run(pathKey(job.collectionId, job.path), async () => {
      const before = this.current(job);
      const { record, operations, change = null } = decide(before);
      await switchboard.apply(
        change,
        [
          ...this.#expected(job),
          ...documents.update(record, before),
          counts.change(job.collectionId, {
            from: before.status,
            to: record.status,
            bytes: record.indexedBytes - before.indexedBytes,
          }),
          ...operations,
        ],
        { mayUseReserve: true, mayExceedQueue: true },
      );
    });
  }

  /** Every write of a job is refused once the document has moved on or its collection is gone. */
  #expected({ collectionId, path, version }: Job): Operation[] {
    const { documents, collections } = this.#options;
    return [collections.expectExists(collectionId), documents.expectVersion(collectionId, path, version)];
  }

  /**
   * Writes large content in bounded pieces, each refused when the document has moved on. Answers what is left for the
   * write that completes the step: all of a small document.
   */
  async #writeInPieces(job: Job, entries: Iterable<readonly Operation[]>): Promise<Operation[]> {
    const { store, turns } = this.#options;
    const yieldToEventLoop = turns.slice();
    let piece: Operation[] = [];
    let bytes = 0;
    for (const entry of entries) {
      const turn = yieldToEventLoop();
      if (turn !== null) await turn;
      const entryBytes = operationsBytes(entry);
      if (piece.length > 0 && bytes + entryBytes > writeBytesTarget) {
        await store.write([...this.#expected(job), ...piece], { mayExceedQueue: true });
        piece = [];
        bytes = 0;
      }
      piece.push(...entry);
      bytes += entryBytes;
    }
    return piece;
  }

  #count(
    job: Job,
    record: DocumentRecord,
    event: Omit<DocumentEvent, 'organizationId' | 'collectionId' | 'fileBytes' | 'pages'> & {
      pages?: number;
    },
  ): Operation[] {
    return this.#options.count({
      organizationId: job.organizationId,
      collectionId: job.collectionId,
      fileBytes: record.size,
      pages: record.numPages ?? 0,
      ...event,
    });
  }
}

/** UTF-8 bytes of the document's text: the pages with two line feeds between them. */
function joinedBytes(pages: Texts): number {
  const separators = 2 * Math.max(0, countOfTexts(pages) - 1);
  if (isPacked(pages)) return pages.block.byteLength + separators;
  return pages.reduce((sum, page) => sum + Buffer.byteLength(page), separators);
}
