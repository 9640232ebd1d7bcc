import { BoundedCache } from '../core/bounded-cache.ts';
import { type Contents, type Layout, pageParts, type StoredChunk, type TextParts } from './content.ts';
import type { VersionRecord, Versions } from './versions.ts';

/** One row of the index, as search names it. */
export interface RowLocation {
  readonly version: number;
  /** Number among the indexed rows of the version's document. */
  readonly row: number;
}

/** What replies show of a document again and again, as bytes that nobody changes. */
export interface VersionReplyFragment {
  readonly prefix: Uint8Array;
  readonly suffix: Uint8Array;
  /** What the addresses in it begin with. */
  readonly baseUrl: string;
}

/** A record that replies show again and again. */
export interface CachedVersion extends VersionRecord {
  /** `path` as JSON. */
  readonly pathJson: string;
  /** Of the document's file; made once. */
  readonly fileToken: () => string;
  /** Here whoever makes replies keeps what they show of it; null at first. */
  replyFragment: VersionReplyFragment | null;
}

/** What an indexed row stands for. */
export interface RowContent {
  readonly version: CachedVersion;
  /** Number of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
  /** As in `KeptVersion`; it must not be much longer than the text in UTF-8. */
  replyFragment: Uint8Array | null;
}

export interface VersionReaderOptions {
  readonly versions: Versions;
  readonly contents: Contents;
  /** The token that stands for a document's file. */
  readonly fileToken: (documentId: string) => string;
  /** Memory that it may keep. */
  readonly bytesMax: number;
}

/** What was read of one version so far. */
interface VersionCacheEntry {
  readonly collectionId: string;
  readonly record: CachedVersion;
  /** By row; empty while it is not known which row is which chunk. */
  rows: (RowContent | undefined)[];
  /** Chunk of each row. */
  chunkOfRow: Uint32Array | undefined;
  layout: Layout | undefined;
  readonly chunks: Map<number, StoredChunk>;
  /** By chunk, and by generation. */
  readonly codes: Map<number, Uint8Array>;
}

/** Memory of objects beside their texts and arrays, as measured with a heap full of them. */
const recordBytes = 1_600;
const chunkBytes = 700;
const rowBytes = 8;
const childBytes = 80;
const arrayBytes = 200;
/** Numbers that chunks of a document can have. */
const chunksMax = 2 ** 32;
/** Of the token of a file. */
const tokenLength = 64;

/**
 * What search reads of the versions that it found, kept in memory within a bound. Search finds only live versions,
 * and of a live version nothing ever changes: a new text or new metadata make a new version. So nothing here becomes
 * wrong; `forget` lets the memory of what was deleted or replaced go at once.
 *
 * Versions have numbers of their own in the whole installation. Each is only found under its own collection, which the
 * caller names, who was cleared for it.
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

  /** Estimated memory of what is kept. */
  get bytes(): number {
    return this.#cache.cost;
  }

  /** Records in the order asked; undefined for one that is gone. */
  readRecords(collectionId: string, versions: readonly number[]): (CachedVersion | undefined)[] {
    return this.#loadEntries(collectionId, versions).map((entry) => entry?.record);
  }

  /** What rows stand for, in the order asked; undefined for one whose document is gone. */
  readRows(collectionId: string, locations: readonly RowLocation[]): (RowContent | undefined)[] {
    const found = locations.map(({ version, row }) => this.#findEntry(collectionId, version)?.rows[row]);
    return found.includes(undefined) ? this.#readRows(collectionId, locations) : found;
  }

  /**
   * Codes of the precise chunks of each chunk, of a generation of the collection's vectors; undefined where there are
   * none.
   */
  readCodes(
    locations: readonly { readonly version: VersionRecord; readonly number: number }[],
    generation = 0,
  ): (Uint8Array | undefined)[] {
    const entries = locations.map(({ version }) => this.#loadEntry(version));
    const keyOf = (number: number) => generation * chunksMax + number;
    const missing = locations.flatMap(({ number }, i) => (entries[i]!.codes.has(keyOf(number)) ? [] : [i]));
    const found = this.#contents.readCodes(
      missing.map((i) => ({ documentId: locations[i]!.version.documentId, chunk: locations[i]!.number })),
      generation,
    );
    missing.forEach((i, at) => {
      const codes = found[at];
      const entry = entries[i]!;
      const { number } = locations[i]!;
      if (codes === undefined || entry.codes.has(keyOf(number))) return;
      entry.codes.set(keyOf(number), codes);
      this.#cache.addCost(entry.record.version, codes.byteLength + arrayBytes);
    });
    return locations.map(({ number }, i) => entries[i]!.codes.get(keyOf(number)));
  }

  /** Where the pages and chunks of a version lie; undefined when it is gone. */
  readLayout(version: VersionRecord): Layout | undefined {
    const entry = this.#loadEntry(version);
    if (entry.layout !== undefined) return entry.layout;
    entry.layout = this.#contents.readLayout(version.documentId);
    if (entry.layout === undefined) return undefined;
    const { pageStarts, pageLengths, chunkStarts } = entry.layout;
    const elements = pageStarts.length + pageLengths.length + chunkStarts.length;
    this.#cache.addCost(entry.record.version, elements * Uint32Array.BYTES_PER_ELEMENT + arrayBytes);
    return entry.layout;
  }

  /** One page without its separator; undefined when there is no such page or the version is gone. */
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

  /** Search will not find this version again. */
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
      // Under the caller's own string, so that comparing it is comparing two pointers.
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
    const found = this.#contents.readChunksOfRows(unread.map(({ record }) => record.documentId));
    unread.forEach((entry, i) => {
      const numbers = found[i];
      entry.chunkOfRow = numbers;
      entry.rows = new Array(numbers?.length ?? 0);
      const bytes = (numbers?.byteLength ?? 0) + rowBytes * entry.rows.length;
      this.#cache.addCost(entry.record.version, bytes + 2 * arrayBytes);
    });
  }

  /** Reads the chunk with `numbers[i]` of each reading that has not read it yet. */
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
    const found = this.#contents.readChunks(
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
 * Kept objects are written out field by field, so that all of them have one shape: what reads hundreds of them for every
 * query is several times as fast then.
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

/** The text, what replies show of it, and what stands around them. */
function estimateChunkBytes({ text, prefix, children }: StoredChunk, { path }: VersionRecord): number {
  const strings = 2 * Buffer.byteLength(text) + 2 * prefix.length + 2 * path.length;
  return chunkBytes + strings + childBytes * children.length;
}
