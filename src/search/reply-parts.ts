import { BoundedCache } from '../core/bounded-cache.ts';
import { addon } from '../index/addon.ts';
import type { NativeFineParts as FineParts, NativePageParts as PageParts } from '../index/native-replies.ts';
import type { ReplyUnit } from '../index/written-reply.ts';
import type { RowLocation } from '../storage/version-reader.ts';

export type { NativeFineParts as FineParts, NativePageParts as PageParts } from '../index/native-replies.ts';

/** Serialized parts of one hit; see `NativeDocumentParts`. */
export interface HitParts {
  readonly version: number;
  readonly prefix: Uint8Array;
  readonly suffix: Uint8Array;
  /** Milliseconds since the epoch; absent for a document that does not expire. */
  readonly expiresAt?: number | undefined;
  /** Null in a reply of documents or pages. */
  readonly row: { readonly number: number; readonly json: Uint8Array } | null;
}

/** Parameters of a reply that the engine writes from cached parts. */
export interface ReplyFormat {
  readonly unit: ReplyUnit;
  /** Number of the collection among the cached parts. */
  readonly collection: number;
  /** Number of the start of the URLs in the parts. */
  readonly baseUrl: number;
  /** Milliseconds since the epoch; parts of expired documents are not used. */
  readonly now: number;
}

interface FormatOptions {
  readonly unit: ReplyUnit;
  readonly collectionId: string;
  /** Start of the URLs in the reply. */
  readonly baseUrl: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Number of base URLs that keep their number. The URL may come from a header, so any number of them occur. */
const baseUrlsMax = 64;

/** Share of its memory from which the cache counts as full. */
const fullShare = 0.95;
/**
 * Share of its memory up to which fine chunks are cached; the rest is kept for other parts. All parts of 5,183
 * abstracts take two thirds. Gain over one half in the bench case `server` with them (`precise`, after `pages`): a quarter
 * of the CPU per query.
 */
const fineShare = 0.75;
const fullCacheReplies = 16;

let lastCollection = 0;

/**
 * Bounded cache, in the native library, of the serialized parts that query replies repeat. The engine writes a reply
 * without JavaScript if it has all of its parts. Collections are numbered through the whole process, because version
 * numbers are unique in one installation only.
 */
export class ReplyParts {
  readonly #collections = new Map<string, number>();
  readonly #baseUrls = new BoundedCache<number>(baseUrlsMax);
  #lastBaseUrl = 0;
  readonly #bytesMax: number;
  #replies = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    addon.useReplyCacheBytesMax(bytesMax);
  }

  /** Memory of the cache. */
  get bytes(): number {
    return addon.replyCacheBytes();
  }

  createFormat({ unit, collectionId, baseUrl, now }: FormatOptions): ReplyFormat {
    return { unit, collection: this.#numberOf(collectionId), baseUrl: this.#numberOfUrl(baseUrl), now };
  }

  /**
   * Whether to cache the parts of a reply that could not be written. If the cache is full, the documents of most queries
   * do not fit, so only every `fullCacheReplies`th reply is cached: enough to keep the documents that queries share.
   */
  admitsReply(): boolean {
    this.#replies += 1;
    return this.bytes < fullShare * this.#bytesMax || this.#replies % fullCacheReplies === 0;
  }

  /**
   * Whether to cache the fine chunks of a precise query. Each query needs those of 32 coarse chunks, so in
   * a collection that does not fit, most replies could not be written.
   */
  admitsFineChunks(): boolean {
    return this.bytes < fineShare * this.#bytesMax;
  }

  put({ collection, baseUrl }: ReplyFormat, { version, prefix, suffix, expiresAt, row }: HitParts): void {
    const document = { prefix, suffix, baseUrl, expiresAt: expiresAt ?? Number.POSITIVE_INFINITY };
    addon.replyPartsPut(collection, version, document, row?.number ?? null, row?.json ?? null);
  }

  /** Adds a page of a document whose parts were put. `rows`: see `PageHit`. */
  putPage({ collection }: ReplyFormat, version: number, page: PageParts, rows: readonly number[]): void {
    addon.replyPagePut(collection, version, page, rows);
  }

  hasFineChunks(
    { collection, baseUrl }: ReplyFormat,
    { version, row }: RowLocation,
    generation: number,
  ): boolean {
    return addon.replyFineChunksHas(collection, version, row, generation, baseUrl);
  }

  /** Adds the fine chunks of a row whose snippet was put. */
  putFineChunks({ collection }: ReplyFormat, { version, row }: RowLocation, fine: FineParts): void {
    addon.replyFineChunksPut(collection, version, row, fine);
  }

  /** Removes a version that search no longer returns. */
  evict(collectionId: string, version: number): void {
    const collection = this.#collections.get(collectionId);
    if (collection !== undefined) addon.replyPartsDelete(collection, version);
  }

  evictCollection(collectionId: string): void {
    const collection = this.#collections.get(collectionId);
    if (collection === undefined) return;
    this.#collections.delete(collectionId);
    addon.replyPartsDeleteCollection(collection);
  }

  #numberOf(collectionId: string): number {
    const known = this.#collections.get(collectionId);
    if (known !== undefined) return known;
    lastCollection += 1;
    this.#collections.set(collectionId, lastCollection);
    return lastCollection;
  }

  #numberOfUrl(baseUrl: string): number {
    const known = this.#baseUrls.get(baseUrl);
    if (known !== undefined) return known;
    this.#lastBaseUrl = (this.#lastBaseUrl + 1) % 2 ** 32;
    this.#baseUrls.set(baseUrl, this.#lastBaseUrl, 1);
    return this.#lastBaseUrl;
  }
}
