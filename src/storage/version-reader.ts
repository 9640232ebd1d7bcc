import { BoundedCache } from '../core/bounded-cache.ts';
import { type Layout, pageParts, type StoredChunk } from './chunks.ts';
import type { Contents } from './content.ts';
import type { TextParts } from './text-parts.ts';
import type { VersionRecord, Versions } from './versions.ts';

/** Location of an index row as returned by search. */
export interface RowLocation {
  readonly version: number;
  /** Index among the indexed rows of the version's document. */
  readonly row: number;
}

/** Serialized parts of a document that replies repeat; immutable bytes. */
export interface VersionReplyFragment {
  readonly prefix: Uint8Array;
  readonly suffix: Uint8Array;
  /** Start of the URLs in it. */
  readonly baseUrl: string;
}

/** A record with data that replies repeat. */
export interface CachedVersion extends VersionRecord {
  /** `path` as JSON. */
  readonly pathJson: string;
  /** Returns the token of the document's file; computed once. */
  readonly fileToken: () => string;
  /** Set by the code that serializes replies, as a cache; null at first. */
  replyFragment: VersionReplyFragment | null;
}

/** Content of an indexed row. */
export interface RowContent {
  readonly version: CachedVersion;
  /** Index of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
  /** As in `CachedVersion`; it must not be much longer than the text in UTF-8. */
  replyFragment: Uint8Array | null;
}

export interface VersionReaderOptions {
  readonly versions: Versions;
  readonly contents: Contents;
  /** Returns the token of a document's file. */
  readonly fileToken: (documentId: string) => string;
  /** Maximum memory of the cache. */
  readonly bytesMax: number;
}

/** Data of one version read so far. */
interface VersionCacheEntry {
  readonly collectionId: string;
  readonly record: CachedVersion;
  /** Content by row; empty while the chunks of the rows are unknown. */
  rows: (RowContent | undefined)[];
  /** Chunk of each row. */
  chunkOfRow: Uint32Array | undefined;
  layout: Layout | undefined;
  readonly chunks: Map<number, StoredChunk>;
  /** Codes by chunk and generation. */
  readonly codes: Map<number, Uint8Array>;
}

/** Memory of objects besides their texts and arrays, measured with a heap full of them. */
const recordBytes = 1_600;
const chunkBytes = 700;
const rowBytes = 8;
const childBytes = 80;
const arrayBytes = 200;
/** Number of possible chunk indexes per document. */
const chunksMax = 2 ** 32;
/** Length of a file token. */
const tokenLength = 64;

/**
 * Bounded in-memory cache of the data that search reads of versions. Search returns only live versions, and a
 * live version is immutable: a new text or new metadata create a new version. So entries never become stale;
 * `evict` frees the memory of deleted or replaced versions at once.
 *
 * Version numbers are unique in the whole installation. Each is only found under its own collection, given by
 * the caller, who is authorized for it.
 */
export class VersionReader {
  readonly #versions: Versions;
  readonly #contents: Contents;
  readonly #fileToken: VersionReaderOptions['fileToken'];
  readonly #cache: BoundedCache<VersionCacheEntry, number>;

  constructor({ versions, contents, fileToken, bytesMax }: VersionReaderOptions) {
    this.#versions = versions;
    this.#contents = contents;
    this.#fileToken = fileToken;
    this.#cache = new BoundedCache(bytesMax);
  }

  /** Estimated memory of the cache. */
  get bytes(): number {
    return this.#cache.cost;
  }

  /** Returns records in the order of `versions`; undefined for a deleted one. */
  readRecords(collectionId: string, versions: readonly number[]): (CachedVersion | undefined)[] {
    return this.#loadEntries(collectionId, versions).map((entry) => entry?.record);
  }

  /** Returns the content of rows, in the order of `locations`; undefined if the document was deleted. */
  readRows(collectionId: string, locations: readonly RowLocation[]): (RowContent | undefined)[] {
    const found = locations.map(({ version, row }) => this.#findEntry(collectionId, version)?.rows[row]);
    return found.includes(undefined) ? this.#readRows(collectionId, locations) : found;
  }

  /**
   * Returns the codes of the fine chunks of each chunk, for a generation of the collection's vectors;
   * undefined if there are none.
   */
  readCodes(
    locations: readonly { readonly version: VersionRecord; readonly number: number }[],
    generation = 0,
  ): (Uint8Array | undefined)[] {
    const entries = locations.map(({ version }) => this.#loadEntry(version));
    const keyOf = (number: number) => generation * chunksMax + number;
    const missing = locations.flatMap(({ number }, i) => (entries[i]!.codes.has(keyOf(number)) ? [] : [i]));
    const found = this.#contents.blocks.readFineChunks(
      missing.map((i) => ({ documentId: locations[i]!.version.documentId, chunk: locations[i]!.number })),
      generation,
    );
    missing.forEach((i, at) => {
      const codes = found[at]?.codes;
      const entry = entries[i]!;
      const { number } = locations[i]!;
      if (codes === undefined || entry.codes.has(keyOf(number))) return;
      entry.codes.set(keyOf(number), codes);
      this.#cache.addCost(entry.record.version, codes.byteLength + arrayBytes);
    });
    return locations.map(({ number }, i) => entries[i]!.codes.get(keyOf(number)));
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

  /** Removes a version that search no longer returns. */
  evict(collectionId: string, version: number): void {
    if (this.#cache.peek(version)?.collectionId === collectionId) this.#cache.delete(version);
  }

  evictCollection(collectionId: string): void {
    for (const version of this.#cache.keys()) this.evict(collectionId, version);
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
      entry.rows[locations[i]!.row] ??= { version: entry.record, number, chunk, replyFragment: null };
      return entry.rows[locations[i]!.row];
    });
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
      record: toCachedVersion({ ...record, collectionId }, this.#fileToken),
      rows: [],
      chunkOfRow: undefined,
      layout: undefined,
      chunks: new Map(),
      codes: new Map(),
    };
    const texts = 4 * record.path.length + 2 * tokenLength + JSON.stringify(record.metadata).length;
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
 * Cached objects are built field by field, so that all of them have one hidden class: code that reads
 * hundreds of them per query is several times as fast then.
 */

function toCachedVersion(record: VersionRecord, fileToken: VersionReaderOptions['fileToken']): CachedVersion {
  const { collectionId, version, documentId, path, metadata, shard, contentType, rawHash, hasImages } =
    record;
  let token: string | undefined;
  return {
    collectionId,
    version,
    documentId,
    path,
    metadata,
    shard,
    contentType,
    rawHash,
    hasImages,
    pathJson: JSON.stringify(path),
    fileToken: () => {
      token ??= fileToken(documentId);
      return token;
    },
    replyFragment: null,
  };
}

function toCachedChunk(chunk: StoredChunk): StoredChunk {
  const { text, start, end, pageStart, pageEnd, prefix, blank, language, children } = chunk;
  return { text, start, end, pageStart, pageEnd, prefix, blank, language, children };
}

/** Estimates the memory of the text, its serialized form in replies, and the related objects. */
function estimateChunkBytes({ text, prefix, children }: StoredChunk, { path }: VersionRecord): number {
  const strings = 2 * Buffer.byteLength(text) + 2 * prefix.length + 2 * path.length;
  return chunkBytes + strings + childBytes * children.length;
}
