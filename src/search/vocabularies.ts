import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { BoundedCache } from '../core/bounded-cache.ts';
import type { Clock } from '../core/clock.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { FilterNode } from '../index/collection-index.ts';
import { type Collection, getGeneration } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { VersionRecord, Versions } from '../storage/versions.ts';
import { callIndex } from './call-index.ts';
import { both } from './curation.ts';
import type { SearchableIndex, SearchComponents } from './search-components.ts';
import type { Vocabulary } from './vocabulary.ts';
import { VocabularyBuilder, type VocabularyText } from './vocabulary-builder.ts';

export interface VocabulariesOptions extends Pick<SearchComponents, 'getIndex'> {
  readonly versions: Pick<Versions, 'getMany'>;
  readonly contents: { readonly chunks: Pick<Contents['chunks'], 'readLayout' | 'read'> };
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'slice'>;
  /** One vocabulary is built at a time. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  /** Called when a vocabulary could not be replaced by a newer one. */
  readonly onError: (error: unknown, collectionId: string) => void;
}

/** Documents that a caller may read. */
export interface VocabularyReader {
  readonly filter: FilterNode | null;
  readonly deadlineMs: number;
  readonly caller: CancellationToken;
}

/** Documents of a vocabulary that match a filter. */
interface AllowedDocuments {
  readonly commits: number;
  /** Number of documents that had expired. */
  readonly expired: number;
  /** 1 for each; null: all. */
  readonly allowed: Uint8Array | null;
}

/** Vocabulary of an index at some time. */
interface CacheEntry {
  readonly index: WeakRef<SearchableIndex>;
  /** Of the index before the vocabulary was built. */
  readonly commits: number;
  readonly vocabulary: Vocabulary;
  readonly builtAt: number;
  readonly buildMs: number;
  /** By filter. */
  readonly allowed: Map<string, AllowedDocuments>;
  isRefreshing: boolean;
}

const batchSize = 8;
const neverCanceled = { isCanceled: false, onCanceled: () => undefined };

/**
 * Vocabularies of collections, built on first use, and again in the background when their documents have
 * changed. The text of the documents is read for that, because the shards keep only hashes of terms.
 */
export class Vocabularies {
  readonly #options: VocabulariesOptions;
  /** Caches of organizations, by collection. */
  readonly #caches = new BoundedCache<BoundedCache<CacheEntry>>(queryLimits.vocabulariesBytesMax);
  readonly #builds = new Map<string, Promise<CacheEntry>>();
  #isClosed = false;

  constructor(options: VocabulariesOptions) {
    this.#options = options;
  }

  /**
   * Returns the vocabulary of a collection, and its documents that the reader may see: live, not expired, and
   * matching the filter. Errors: those of `callIndex`, and of the semaphore.
   */
  async find(
    collection: Collection,
    reader: VocabularyReader,
  ): Promise<{ readonly vocabulary: Vocabulary; readonly allowed: Uint8Array | null }> {
    const index = this.#options.getIndex(collection.collectionId, getGeneration(collection));
    const cached = this.#caches.get(collection.organizationId)?.get(collection.collectionId);
    const isCurrent = cached?.index.deref() === index;
    const entry = isCurrent ? cached! : await this.#build(collection, index);
    this.#refresh(collection, index, entry);
    return {
      vocabulary: entry.vocabulary,
      allowed: await this.#findAllowed(index, entry, reader),
    };
  }

  /** Frees the vocabulary of a deleted collection. */
  delete({ collectionId, organizationId }: Pick<Collection, 'collectionId' | 'organizationId'>): void {
    const cache = this.#caches.get(organizationId);
    if (cache?.peek(collectionId) === undefined) return;
    cache.delete(collectionId);
    if (cache.size === 0) this.#caches.delete(organizationId);
    else this.#caches.set(organizationId, cache, cache.cost);
  }

  /** Waits until no vocabulary is being built. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#builds.values());
  }

  /** Starts to replace an outdated vocabulary, so rarely that it takes at most a small share of the time. */
  #refresh(collection: Collection, index: SearchableIndex, entry: CacheEntry): void {
    const { clock, onError } = this.#options;
    if (entry.isRefreshing || entry.commits === index.commits) return;
    const { vocabularyRefreshMsMin, vocabularyRefreshFactor } = queryLimits;
    const pauseMs = Math.max(vocabularyRefreshMsMin, vocabularyRefreshFactor * entry.buildMs);
    if (clock.monotonic() - entry.builtAt < pauseMs) return;
    entry.isRefreshing = true;
    this.#build(collection, index)
      .catch((error: unknown) => {
        if (!this.#isClosed) onError(error, collection.collectionId);
      })
      .finally(() => {
        entry.isRefreshing = false;
      });
  }

  /** Builds and caches the vocabulary; concurrent callers share the work. */
  #build(collection: Collection, index: SearchableIndex): Promise<CacheEntry> {
    const { collectionId, organizationId } = collection;
    const running = this.#builds.get(collectionId);
    if (running !== undefined) return running;
    const build = this.#buildInTurn(collection, index)
      .then((entry) => {
        const cache =
          this.#caches.get(organizationId) ?? new BoundedCache(queryLimits.organizationVocabulariesBytesMax);
        cache.set(collectionId, entry, entry.vocabulary.bytes);
        this.#caches.set(organizationId, cache, cache.cost);
        return entry;
      })
      .finally(() => this.#builds.delete(collectionId));
    this.#builds.set(collectionId, build);
    return build;
  }

  async #buildInTurn(collection: Collection, index: SearchableIndex): Promise<CacheEntry> {
    const { clock, semaphore } = this.#options;
    const pause = semaphore.acquire(collection.organizationId, neverCanceled);
    if (pause !== null) await pause;
    try {
      const startedAt = clock.monotonic();
      const { commits } = index;
      const vocabulary = await this.#read(collection, index);
      const builtAt = clock.monotonic();
      return {
        index: new WeakRef(index),
        commits,
        vocabulary,
        builtAt,
        buildMs: builtAt - startedAt,
        allowed: new Map(),
        isRefreshing: false,
      };
    } finally {
      semaphore.release();
    }
  }

  async #read({ collectionId, languages }: Collection, index: SearchableIndex): Promise<Vocabulary> {
    const { versions, backgroundScheduler } = this.#options;
    const yieldToEventLoop = backgroundScheduler.slice();
    const builder = new VocabularyBuilder(languages);
    const numbers = (await index.list(null, queryLimits.vocabularyDocumentsMax, 0xffffffff)).sort();
    // An equal share for each document, so that the words of all of them are suggested.
    const { vocabularyTextUnitsMax, vocabularyDocumentUnitsMax } = queryLimits;
    const unitsMax = Math.min(
      vocabularyDocumentUnitsMax,
      Math.floor(vocabularyTextUnitsMax / numbers.length),
    );
    for (let start = 0; start < numbers.length; start += batchSize) {
      for (const record of versions.getMany(collectionId, [...numbers.subarray(start, start + batchSize)])) {
        const pause = yieldToEventLoop();
        if (pause !== null) await pause;
        if (this.#isClosed) throw new Error('the server stops');
        if (record === undefined) continue;
        const text = this.#readText(record, unitsMax);
        if (text === null) continue;
        builder.add(record.version, text, record.expiresAt);
        if (builder.isFull) return builder.build(yieldToEventLoop);
      }
    }
    return builder.build(yieldToEventLoop);
  }

  /** Returns the title and the start of the text; null if the document was deleted meanwhile. */
  #readText({ documentId }: VersionRecord, unitsMax: number): VocabularyText | null {
    const { chunks } = this.#options.contents;
    const layout = chunks.readLayout(documentId);
    if (layout === undefined) return null;
    const texts: string[] = [];
    let units = 0;
    for (let chunk = 0; chunk < layout.chunkStarts.length; chunk += 1) {
      const [stored] = chunks.read([{ documentId, chunk }]);
      if (stored === undefined) break;
      texts.push(stored.text);
      units += stored.text.length;
      if (units >= unitsMax) break;
    }
    return { title: layout.title, texts };
  }

  /** Without a store or an index to wait for, unless the documents have changed. */
  async #findAllowed(
    index: SearchableIndex,
    { vocabulary, allowed: cache }: CacheEntry,
    { filter, deadlineMs, caller }: VocabularyReader,
  ): Promise<Uint8Array | null> {
    const key = JSON.stringify(filter);
    const { commits } = index;
    const expired = vocabulary.countExpired(this.#options.clock.now());
    const cached = cache.get(key);
    if (cached?.commits === commits && cached.expired === expired) return cached.allowed;
    const { versions, expirations } = vocabulary;
    const found = await callIndex(caller, () => listVersions(index, versions, filter, deadlineMs));
    const flags = toFlags(versions, found.sort());
    for (const { document } of expirations.slice(0, expired)) flags[document] = 0;
    const allowed = flags.includes(0) ? flags : null;
    if (cache.size >= queryLimits.vocabularyFiltersMax) cache.clear();
    cache.set(key, { commits, expired, allowed });
    return allowed;
  }
}

/**
 * Returns the visible versions that match the filter: at least those among `versions`. Listing all documents is faster than
 * a filter of thousands of versions, if there are not many more.
 */
async function listVersions(
  index: SearchableIndex,
  versions: Float64Array,
  filter: FilterNode | null,
  deadlineMs: number,
): Promise<Float64Array> {
  const listedMax = 2 * queryLimits.vocabularyDocumentsMax;
  const all = await index.list(filter, listedMax, deadlineMs);
  if (all.length < listedMax) return all;
  const own = both(filter, { kind: 'version', operator: 'in', versions: [...versions] });
  return index.list(own, versions.length, deadlineMs);
}

/** Returns 1 for each of the ascending versions that is among the ascending `visible` ones, else 0. */
function toFlags(versions: Float64Array, visible: Float64Array): Uint8Array {
  const flags = new Uint8Array(versions.length);
  let at = 0;
  for (let i = 0; i < versions.length && at < visible.length; i += 1) {
    while (at < visible.length && visible[at]! < versions[i]!) at += 1;
    if (visible[at] === versions[i]) flags[i] = 1;
  }
  return flags;
}
