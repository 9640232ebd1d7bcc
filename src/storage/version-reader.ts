import { BoundedCache } from '../core/bounded-cache.ts';
import type { LineBoxes } from '../core/line-boxes.ts';
import { findChunkAt, type Layout, pageParts, type StoredChunk } from './chunks.ts';
import type { Contents } from './content.ts';
import { isExpired } from './expirations.ts';
import type { IndexBlocks } from './index-blocks.ts';
import type { TextParts } from './text-parts.ts';
import type { VersionRecord, Versions } from './versions.ts';

/** Location of an index row as returned by search. */
export interface RowLocation {
  readonly version: number;
  /** Index among the indexed rows of the version's document. */
  readonly row: number;
}

/** Content of an indexed row. */
export interface RowContent {
  readonly version: VersionRecord;
  /** Index of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
}

/** Data of the fine chunks of an indexed row, for scoring them without their text. */
export interface FineChunkData {
  /** Block of their terms (native/FORMAT.md). */
  readonly terms: Uint8Array;
  /** 8-bit vectors, concatenated. */
  readonly codes: Uint8Array;
}

export interface VersionReaderOptions {
  readonly versions: Versions;
  readonly contents: Contents;
  /** Computes the terms of the fine chunks of a chunk that was stored without them. */
  readonly encodeFineTerms: (chunk: StoredChunk) => Uint8Array;
  /** Maximum memory of the cache. */
  readonly bytesMax: number;
  /** Milliseconds since the epoch; expired versions are treated as deleted. */
  readonly now: () => number;
  /** Another cache of data of versions; null for none. */
  readonly dependent: Pick<VersionReader, 'evict' | 'evictCollection'> | null;
}

/** Data of one version read so far. */
interface VersionCacheEntry {
  readonly collectionId: string;
  readonly record: VersionRecord;
  /** Content by row; empty while the chunks of the rows are unknown. */
  rows: (RowContent | undefined)[];
  /** Chunk of each row. */
  chunkOfRow: Uint32Array | undefined;
  layout: Layout | undefined;
  readonly chunks: Map<number, StoredChunk>;
  /** By row and generation. */
  readonly fineChunks: Map<number, FineChunkData>;
}

/**
 * Memory of objects besides their texts and arrays, measured with a heap full of them. Includes serialized
 * forms, which callers cache for as long as the objects.
 */
const recordBytes = 1_600;
const chunkBytes = 700;
const rowBytes = 8;
const childBytes = 80;
const arrayBytes = 200;
/** Number of possible rows per document. */
const rowsMax = 2 ** 32;
/** Maximum length of a URL in the serialized form of a record, without its host. */
const urlLength = 64;

/**
 * Bounded in-memory cache of the data that search reads of versions. Search returns only live versions, and a
 * live version is immutable: a new text or new metadata create a new version. So entries never become stale;
 * `evict` frees the memory of deleted or replaced versions at once. While an entry is cached, each read returns
 * the same objects, so they can be keys of a `WeakMap`. Gain at the load of the bench case `server` (`snippets`,
 * 32 connections): 970 -> 270 us of CPU per query on the main thread.
 *
 * Version numbers are unique in the whole installation. Each is only found under its own collection, given by
 * the caller, who is authorized for it.
 */
export class VersionReader {
  readonly #versions: Versions;
  readonly #contents: Contents;
  readonly #encodeFineTerms: VersionReaderOptions['encodeFineTerms'];
  readonly #cache: BoundedCache<VersionCacheEntry, number>;
  readonly #now: () => number;
  readonly #dependent: VersionReaderOptions['dependent'];

  constructor({ versions, contents, encodeFineTerms, bytesMax, now, dependent }: VersionReaderOptions) {
    this.#now = now;
    this.#dependent = dependent;
    this.#versions = versions;
    this.#contents = contents;
    this.#encodeFineTerms = encodeFineTerms;
    this.#cache = new BoundedCache(bytesMax);
  }

  /** Estimated memory of the cache. */
  get bytes(): number {
    return this.#cache.cost;
  }

  /** Returns records in the order of `versions`; undefined for a deleted one. */
  readRecords(collectionId: string, versions: readonly number[]): (VersionRecord | undefined)[] {
    const records = this.#loadEntries(collectionId, versions).map((entry) => entry?.record);
    return this.#withoutExpired(records, (record) => record);
  }

  /** Returns the content of rows, in the order of `locations`; undefined if the document was deleted. */
  readRows(collectionId: string, locations: readonly RowLocation[]): (RowContent | undefined)[] {
    const found = locations.map(({ version, row }) => this.#findEntry(collectionId, version)?.rows[row]);
    const rows = found.includes(undefined) ? this.#readRows(collectionId, locations) : found;
    return this.#withoutExpired(rows, ({ version }) => version);
  }

  #withoutExpired<T>(
    items: readonly (T | undefined)[],
    versionOf: (item: T) => VersionRecord,
  ): (T | undefined)[] {
    const now = this.#now();
    return items.map((item) => (item !== undefined && isExpired(versionOf(item), now) ? undefined : item));
  }

  /**
   * Returns the data of the fine chunks of rows, for a generation of the collection's vectors, in the order of
   * `locations`; undefined if the row has no codes or the document was deleted.
   */
  readFineChunks(
    collectionId: string,
    locations: readonly RowLocation[],
    generation = 0,
  ): (FineChunkData | undefined)[] {
    const find = ({ version, row }: RowLocation) =>
      this.#findEntry(collectionId, version)?.fineChunks.get(generation * rowsMax + row);
    const found = locations.map(find);
    const missing = locations.filter((_, i) => found[i] === undefined);
    if (missing.length === 0) return found;
    const read = this.#readFineChunks(collectionId, missing, generation);
    let next = 0;
    return found.map((data) => data ?? read[next++]);
  }

  /** Returns the chunk of each indexed row of a version, ascending; undefined when it was deleted. */
  readChunksOfRows(version: VersionRecord): Uint32Array | undefined {
    const entry = this.#loadEntry(version);
    this.#readChunkNumbers([entry]);
    return entry.chunkOfRow;
  }

  /** Not cached. See `IndexBlocks`. */
  readRowVectors(
    { documentId }: VersionRecord,
    rows: Parameters<IndexBlocks['readRowVectors']>[1],
  ): ReturnType<IndexBlocks['readRowVectors']> {
    return this.#contents.blocks.readRowVectors(documentId, rows);
  }

  /** Returns the positions of the pages and chunks of a version; undefined when it was deleted. */
  readLayout(version: VersionRecord): Layout | undefined {
    const entry = this.#loadEntry(version);
    if (entry.layout !== undefined) return entry.layout;
    entry.layout = this.#contents.chunks.readLayout(version.documentId);
    if (entry.layout === undefined) return undefined;
    const { pageStarts, pageLengths, chunkStarts } = entry.layout;
    const elements = pageStarts.length + pageLengths.length + chunkStarts.length;
    this.#cache.addCost(entry.record.version, elements * Uint32Array.BYTES_PER_ELEMENT + arrayBytes);
    return entry.layout;
  }

  /** Returns one page without its separator; undefined if the page does not exist or the version was deleted. */
  readPage(version: VersionRecord, page: number): TextParts | undefined {
    const layout = this.readLayout(version);
    if (layout === undefined) return undefined;
    const entry = this.#loadEntry(version);
    return pageParts(layout, page, (numbers) => {
      this.#readChunks(
        numbers.map(() => entry),
        numbers,
      );
      return numbers.map((number) => entry.chunks.get(number));
    });
  }

  /** Not cached. Returns the boxes of the lines of pages; null for a page where they are unknown. */
  readLineBoxes(version: VersionRecord, pages: readonly number[]): (LineBoxes | null)[] {
    const lengths = this.readLayout(version)?.pageLengths;
    const keys = pages.map((page) => ({ page, length: lengths?.[page] ?? 0 }));
    return this.#contents.lineBoxes.read(version.documentId, keys);
  }

  /** Returns the chunk with exactly the text of a page; undefined if no chunk has, as for most long documents. */
  readPageChunk(version: VersionRecord, page: number): StoredChunk | undefined {
    const layout = this.readLayout(version);
    const start = layout?.pageStarts[page];
    if (layout === undefined || start === undefined) return undefined;
    const number = findChunkAt(layout.chunkStarts, start);
    if (layout.chunkStarts[number] !== start) return undefined;
    const entry = this.#loadEntry(version);
    this.#readChunks([entry], [number]);
    const chunk = entry.chunks.get(number);
    return chunk?.end === start + layout.pageLengths[page]! ? chunk : undefined;
  }

  /** Removes a version that search no longer returns. */
  evict(collectionId: string, version: number): void {
    this.#dependent?.evict(collectionId, version);
    this.#delete(collectionId, version);
  }

  evictCollection(collectionId: string): void {
    this.#dependent?.evictCollection(collectionId);
    for (const version of this.#cache.keys()) this.#delete(collectionId, version);
  }

  #delete(collectionId: string, version: number): void {
    if (this.#cache.peek(version)?.collectionId === collectionId) this.#cache.delete(version);
  }

  #findEntry(collectionId: string, version: number): VersionCacheEntry | undefined {
    const entry = this.#cache.get(version);
    return entry?.collectionId === collectionId ? entry : undefined;
  }

  #readRows(collectionId: string, locations: readonly RowLocation[]): (RowContent | undefined)[] {
    const entries = this.#loadEntries(
      collectionId,
      locations.map(({ version }) => version),
    );
    this.#readChunkNumbers(entries);
    const numbers = entries.map((entry, i) => entry?.chunkOfRow?.[locations[i]!.row]);
    this.#readChunks(entries, numbers);
    return entries.map((entry, i) => {
      const number = numbers[i];
      const chunk = number === undefined ? undefined : entry?.chunks.get(number);
      if (entry === undefined || number === undefined || chunk === undefined) return undefined;
      entry.rows[locations[i]!.row] ??= { version: entry.record, number, chunk };
      return entry.rows[locations[i]!.row];
    });
  }

  #readFineChunks(
    collectionId: string,
    locations: readonly RowLocation[],
    generation: number,
  ): (FineChunkData | undefined)[] {
    const entries = this.#loadEntries(
      collectionId,
      locations.map(({ version }) => version),
    );
    this.#readChunkNumbers(entries);
    const rows = entries.flatMap((entry, i) => {
      const number = entry?.chunkOfRow?.[locations[i]!.row];
      return entry === undefined || number === undefined ? [] : [{ i, entry, number }];
    });
    const stored = this.#contents.blocks.readFineChunks(
      rows.map(({ entry, number }) => ({ documentId: entry.record.documentId, chunk: number })),
      generation,
    );
    const unencoded = rows.filter((_, at) => stored[at]!.terms === undefined);
    this.#readChunks(
      unencoded.map(({ entry }) => entry),
      unencoded.map(({ number }) => number),
    );
    const found = new Array<FineChunkData | undefined>(locations.length);
    rows.forEach(({ i, entry, number }, at) => {
      const { codes, terms = this.#computeFineTerms(entry.chunks.get(number)) } = stored[at]!;
      if (codes === undefined || terms === undefined) return;
      const data = { terms, codes };
      entry.fineChunks.set(generation * rowsMax + locations[i]!.row, data);
      this.#cache.addCost(entry.record.version, terms.byteLength + codes.byteLength + 2 * arrayBytes);
      found[i] = data;
    });
    return found;
  }

  #computeFineTerms(chunk: StoredChunk | undefined): Uint8Array | undefined {
    return chunk === undefined ? undefined : this.#encodeFineTerms(chunk);
  }

  #loadEntries(collectionId: string, versions: readonly number[]): (VersionCacheEntry | undefined)[] {
    const found = versions.map((version) => this.#findEntry(collectionId, version));
    if (!found.includes(undefined)) return found;
    const missing = [...new Set(versions.filter((_, i) => found[i] === undefined))];
    const read = new Map<number, VersionCacheEntry>();
    this.#versions.getMany(collectionId, missing).forEach((record, i) => {
      // Stored under the caller's own string, so that comparing it compares two pointers.
      if (record !== undefined) read.set(missing[i]!, this.#addEntry(collectionId, record));
    });
    return found.map((entry, i) => entry ?? read.get(versions[i]!));
  }

  #loadEntry(record: VersionRecord): VersionCacheEntry {
    const { collectionId } = record;
    return this.#findEntry(collectionId, record.version) ?? this.#addEntry(collectionId, record);
  }

  #addEntry(collectionId: string, record: VersionRecord): VersionCacheEntry {
    const entry: VersionCacheEntry = {
      collectionId,
      record: toCachedVersion({ ...record, collectionId }),
      rows: [],
      chunkOfRow: undefined,
      layout: undefined,
      chunks: new Map(),
      fineChunks: new Map(),
    };
    const texts = 4 * record.path.length + 2 * urlLength + JSON.stringify(record.metadata).length;
    this.#cache.set(record.version, entry, recordBytes + 2 * texts);
    return entry;
  }

  #readChunkNumbers(entries: readonly (VersionCacheEntry | undefined)[]): void {
    const missing = new Set<VersionCacheEntry>();
    for (const entry of entries) if (entry?.chunkOfRow === undefined && entry) missing.add(entry);
    if (missing.size === 0) return;
    const unread = [...missing];
    const found = this.#contents.blocks.readChunksOfRows(unread.map(({ record }) => record.documentId));
    unread.forEach((entry, i) => {
      const numbers = found[i];
      entry.chunkOfRow = numbers;
      entry.rows = new Array(numbers?.length ?? 0);
      const bytes = (numbers?.byteLength ?? 0) + rowBytes * entry.rows.length;
      this.#cache.addCost(entry.record.version, bytes + 2 * arrayBytes);
    });
  }

  /** Reads the chunk `numbers[i]` of each entry that has not read it yet. */
  #readChunks(
    entries: readonly (VersionCacheEntry | undefined)[],
    numbers: readonly (number | undefined)[],
  ): void {
    const unread: { entry: VersionCacheEntry; number: number }[] = [];
    entries.forEach((entry, i) => {
      const number = numbers[i];
      if (entry === undefined || number === undefined || entry.chunks.has(number)) return;
      unread.push({ entry, number });
    });
    if (unread.length === 0) return;
    const found = this.#contents.chunks.read(
      unread.map(({ entry, number }) => ({ documentId: entry.record.documentId, chunk: number })),
    );
    unread.forEach(({ entry, number }, i) => {
      const chunk = found[i];
      if (chunk === undefined || entry.chunks.has(number)) return;
      entry.chunks.set(number, toCachedChunk(chunk));
      this.#cache.addCost(entry.record.version, estimateChunkBytes(chunk, entry.record));
    });
  }
}

/*
 * Cached objects are built field by field, so that all of them have one hidden class. Gain at the load of the
 * bench case `server` (`snippets`, 32 connections): 288 -> 266 us of CPU per query on the main thread.
 */

function toCachedVersion(record: VersionRecord): VersionRecord {
  const { collectionId, version, documentId, path, metadata, shard, contentType, rawHash, hasImages } =
    record;
  const known = { collectionId, version, documentId, path, metadata, shard, contentType, rawHash, hasImages };
  return record.expiresAt === undefined ? known : { ...known, expiresAt: record.expiresAt };
}

function toCachedChunk(chunk: StoredChunk): StoredChunk {
  const { text, start, end, pageStart, pageEnd, prefix, blank, language, children } = chunk;
  return { text, start, end, pageStart, pageEnd, prefix, blank, language, children };
}

/** Estimates the memory of the text, its serialized form, and the related objects. */
function estimateChunkBytes({ text, prefix, children }: StoredChunk, { path }: VersionRecord): number {
  const strings = 2 * Buffer.byteLength(text) + 2 * prefix.length + 2 * path.length;
  return chunkBytes + strings + childBytes * children.length;
}
