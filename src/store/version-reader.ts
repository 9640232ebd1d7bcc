import { BoundedCache } from '../base/bounded-cache.ts';
import { type Contents, type Layout, pageParts, type StoredChunk, type TextParts } from './content.ts';
import type { VersionRecord, Versions } from './versions.ts';

/** One row of the index, as search names it. */
export interface RowPlace {
  readonly version: number;
  /** Number among the indexed rows of the version's document. */
  readonly row: number;
}

/** What replies show of a document again and again, as bytes that nobody changes. */
export interface ShownVersion {
  readonly before: Uint8Array;
  readonly behind: Uint8Array;
  /** What the addresses in it begin with. */
  readonly address: string;
}

/** A record that replies show again and again. */
export interface KeptVersion extends VersionRecord {
  /** `path` as JSON. */
  readonly pathJson: string;
  /** Of the document's file; made once. */
  readonly fileToken: () => string;
  /** Here whoever makes replies keeps what they show of it; null at first. */
  shown: ShownVersion | null;
}

/** What an indexed row stands for. */
export interface RowContent {
  readonly version: KeptVersion;
  /** Number of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
  /** As in `KeptVersion`; it must not be much longer than the text in UTF-8. */
  shown: Uint8Array | null;
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
interface Reading {
  readonly collectionId: string;
  readonly record: KeptVersion;
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
  readonly #kept: BoundedCache<Reading, number>;

  constructor({ versions, contents, fileToken, bytesMax }: VersionReaderOptions) {
    this.#versions = versions;
    this.#contents = contents;
    this.#fileToken = fileToken;
    this.#kept = new BoundedCache(bytesMax);
  }

  /** Estimated memory of what is kept. */
  get bytes(): number {
    return this.#kept.cost;
  }

  /** Records in the order asked; undefined for one that is gone. */
  records(collectionId: string, versions: readonly number[]): (KeptVersion | undefined)[] {
    return this.#readings(collectionId, versions).map((reading) => reading?.record);
  }

  /** What rows stand for, in the order asked; undefined for one whose document is gone. */
  rows(collectionId: string, places: readonly RowPlace[]): (RowContent | undefined)[] {
    const found = places.map(({ version, row }) => this.#find(collectionId, version)?.rows[row]);
    return found.includes(undefined) ? this.#readRows(collectionId, places) : found;
  }

  /**
   * Codes of the precise chunks of each chunk, of a generation of the collection's vectors; undefined where there are
   * none.
   */
  codes(
    places: readonly { readonly version: VersionRecord; readonly number: number }[],
    generation = 0,
  ): (Uint8Array | undefined)[] {
    const readings = places.map(({ version }) => this.#readingOf(version));
    const keyOf = (number: number) => generation * chunksMax + number;
    const missing = places.flatMap(({ number }, i) => (readings[i]!.codes.has(keyOf(number)) ? [] : [i]));
    const found = this.#contents.codes(
      missing.map((i) => ({ documentId: places[i]!.version.documentId, chunk: places[i]!.number })),
      generation,
    );
    missing.forEach((i, at) => {
      const codes = found[at];
      const reading = readings[i]!;
      const { number } = places[i]!;
      if (codes === undefined || reading.codes.has(keyOf(number))) return;
      reading.codes.set(keyOf(number), codes);
      this.#kept.grow(reading.record.version, codes.byteLength + arrayBytes);
    });
    return places.map(({ number }, i) => readings[i]!.codes.get(keyOf(number)));
  }

  /** Where the pages and chunks of a version lie; undefined when it is gone. */
  layout(version: VersionRecord): Layout | undefined {
    const reading = this.#readingOf(version);
    if (reading.layout !== undefined) return reading.layout;
    reading.layout = this.#contents.layout(version.documentId);
    if (reading.layout === undefined) return undefined;
    const { pageStarts, pageLengths, chunkStarts } = reading.layout;
    const elements = pageStarts.length + pageLengths.length + chunkStarts.length;
    this.#kept.grow(reading.record.version, elements * Uint32Array.BYTES_PER_ELEMENT + arrayBytes);
    return reading.layout;
  }

  /** One page without its separator; undefined when there is no such page or the version is gone. */
  page(version: VersionRecord, page: number): TextParts | undefined {
    const layout = this.layout(version);
    if (layout === undefined) return undefined;
    const reading = this.#readingOf(version);
    return pageParts(layout, page, (numbers) => {
      this.#readChunks(
        numbers.map(() => reading),
        numbers,
      );
      return numbers.map((number) => reading.chunks.get(number));
    });
  }

  /** Search will not find this version again. */
  forget(collectionId: string, version: number): void {
    if (this.#kept.peek(version)?.collectionId === collectionId) this.#kept.delete(version);
  }

  forgetCollection(collectionId: string): void {
    for (const version of this.#kept.keys()) this.forget(collectionId, version);
  }

  #find(collectionId: string, version: number): Reading | undefined {
    const reading = this.#kept.get(version);
    return reading?.collectionId === collectionId ? reading : undefined;
  }

  #readRows(collectionId: string, places: readonly RowPlace[]): (RowContent | undefined)[] {
    const readings = this.#readings(
      collectionId,
      places.map(({ version }) => version),
    );
    this.#readChunkNumbers(readings);
    const numbers = readings.map((reading, i) => reading?.chunkOfRow?.[places[i]!.row]);
    this.#readChunks(readings, numbers);
    return readings.map((reading, i) => {
      const number = numbers[i];
      const chunk = number === undefined ? undefined : reading?.chunks.get(number);
      if (reading === undefined || number === undefined || chunk === undefined) return undefined;
      reading.rows[places[i]!.row] ??= { version: reading.record, number, chunk, shown: null };
      return reading.rows[places[i]!.row];
    });
  }

  #readings(collectionId: string, versions: readonly number[]): (Reading | undefined)[] {
    const found = versions.map((version) => this.#find(collectionId, version));
    if (!found.includes(undefined)) return found;
    const missing = [...new Set(versions.filter((_, i) => found[i] === undefined))];
    const read = new Map<number, Reading>();
    this.#versions.getMany(collectionId, missing).forEach((record, i) => {
      // Under the caller's own string, so that comparing it is comparing two pointers.
      if (record !== undefined) read.set(missing[i]!, this.#keep(collectionId, record));
    });
    return found.map((reading, i) => reading ?? read.get(versions[i]!));
  }

  #readingOf(record: VersionRecord): Reading {
    const { collectionId } = record;
    return this.#find(collectionId, record.version) ?? this.#keep(collectionId, record);
  }

  #keep(collectionId: string, record: VersionRecord): Reading {
    const reading: Reading = {
      collectionId,
      record: keptVersion({ ...record, collectionId }, this.#fileToken),
      rows: [],
      chunkOfRow: undefined,
      layout: undefined,
      chunks: new Map(),
      codes: new Map(),
    };
    const texts = 4 * record.path.length + 2 * tokenLength + JSON.stringify(record.metadata).length;
    this.#kept.set(record.version, reading, recordBytes + 2 * texts);
    return reading;
  }

  #readChunkNumbers(readings: readonly (Reading | undefined)[]): void {
    const missing = new Set<Reading>();
    for (const reading of readings) if (reading?.chunkOfRow === undefined && reading) missing.add(reading);
    if (missing.size === 0) return;
    const unread = [...missing];
    const found = this.#contents.chunksOfRows(unread.map(({ record }) => record.documentId));
    unread.forEach((reading, i) => {
      const numbers = found[i];
      reading.chunkOfRow = numbers;
      reading.rows = new Array(numbers?.length ?? 0);
      const bytes = (numbers?.byteLength ?? 0) + rowBytes * reading.rows.length;
      this.#kept.grow(reading.record.version, bytes + 2 * arrayBytes);
    });
  }

  /** Reads the chunk with `numbers[i]` of each reading that has not read it yet. */
  #readChunks(readings: readonly (Reading | undefined)[], numbers: readonly (number | undefined)[]): void {
    const unread: { reading: Reading; number: number }[] = [];
    readings.forEach((reading, i) => {
      const number = numbers[i];
      if (reading === undefined || number === undefined || reading.chunks.has(number)) return;
      unread.push({ reading, number });
    });
    if (unread.length === 0) return;
    const found = this.#contents.chunks(
      unread.map(({ reading, number }) => ({ documentId: reading.record.documentId, chunk: number })),
    );
    unread.forEach(({ reading, number }, i) => {
      const chunk = found[i];
      if (chunk === undefined || reading.chunks.has(number)) return;
      reading.chunks.set(number, keptChunk(chunk));
      this.#kept.grow(reading.record.version, memoryOf(chunk, reading.record));
    });
  }
}

/*
 * Kept objects are written out field by field, so that all of them have one shape: what reads hundreds of them for every
 * query is several times as fast then.
 */

function keptVersion(record: VersionRecord, fileToken: VersionReaderOptions['fileToken']): KeptVersion {
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
    shown: null,
  };
}

function keptChunk(chunk: StoredChunk): StoredChunk {
  const { text, start, end, pageStart, pageEnd, prefix, blank, language, children } = chunk;
  return { text, start, end, pageStart, pageEnd, prefix, blank, language, children };
}

/** The text, what replies show of it, and what stands around them. */
function memoryOf({ text, prefix, children }: StoredChunk, { path }: VersionRecord): number {
  const strings = 2 * Buffer.byteLength(text) + 2 * prefix.length + 2 * path.length;
  return chunkBytes + strings + childBytes * children.length;
}
