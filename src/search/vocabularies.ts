import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { BoundedCache } from '../core/bounded-cache.ts';
import type { Clock } from '../core/clock.ts';
import { queryLimits } from '../core/query-limits.ts';
import { type Collection, getGeneration } from '../storage/collections.ts';
import { AllowedDocuments, type SuggestionCaller } from './allowed-documents.ts';
import { callIndex } from './call-index.ts';
import type { SearchableIndex, SearchComponents } from './search-components.ts';
import type { Vocabulary } from './vocabulary.ts';
import type { VocabularyReader } from './vocabulary-reader.ts';

export interface VocabulariesOptions extends Pick<SearchComponents, 'getIndex'> {
  readonly reader: Pick<VocabularyReader, 'readAll' | 'readSample' | 'stop'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Of samples, for which callers wait: one is read at a time. */
  readonly sampleSemaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  /** Of full readings, for which no caller waits: one at a time. */
  readonly readingSemaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  /** Called when a full reading has failed. */
  readonly onError: (error: unknown, collectionId: string) => void;
}

/** Vocabulary of an index at some time. */
interface CacheEntry {
  readonly index: WeakRef<SearchableIndex>;
  /** Of the index before the vocabulary was read. */
  readonly commits: number;
  readonly vocabulary: Vocabulary;
  /** Whether it is a sample of the documents. */
  readonly isPartial: boolean;
  readonly allowed: AllowedDocuments;
}

const neverCanceled = { isCanceled: false, onCanceled: () => undefined };

/**
 * Cached vocabularies of collections. The first suggestion for a collection waits for a sample of its documents;
 * all of them are read in the background then, and again when they have changed.
 */
export class Vocabularies {
  readonly #options: VocabulariesOptions;
  /** Caches of organizations, by collection. */
  readonly #caches = new BoundedCache<BoundedCache<CacheEntry>>(queryLimits.vocabulariesBytesMax);
  /** In progress, by collection. */
  readonly #samples = new Map<string, Promise<CacheEntry>>();
  readonly #fullReadings = new Map<string, Promise<void>>();
  /** Monotonic time of the next full reading. Kept for evicted vocabularies too, so that evictions cause no load. */
  readonly #nextReadingAt = new WeakMap<SearchableIndex, number>();
  #isClosed = false;

  constructor(options: VocabulariesOptions) {
    this.#options = options;
  }

  /**
   * Returns the vocabulary of a collection, and 1 for each of its documents that the caller may read, else 0 (null: all).
   * Errors: those of `callIndex`, and of the semaphore of samples.
   */
  async find(
    collection: Collection,
    caller: SuggestionCaller,
  ): Promise<{ readonly vocabulary: Vocabulary; readonly allowed: Uint8Array | null }> {
    const { getIndex, clock } = this.#options;
    const index = getIndex(collection.collectionId, getGeneration(collection));
    const entry =
      this.#findCached(collection, index) ??
      (await callIndex(caller.token, () => this.#sample(collection, index)));
    this.#refresh(collection, index, entry);
    return {
      vocabulary: entry.vocabulary,
      allowed: await entry.allowed.find(index, caller, clock.now()),
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

  /** Ends the readings in progress. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.reader.stop();
    await Promise.allSettled([...this.#samples.values(), ...this.#fullReadings.values()]);
  }

  #findCached({ collectionId, organizationId }: Collection, index: SearchableIndex): CacheEntry | undefined {
    const entry = this.#caches.get(organizationId)?.get(collectionId);
    return entry?.index.deref() === index ? entry : undefined;
  }

  /** Reads a sample; concurrent callers share the work. */
  #sample(collection: Collection, index: SearchableIndex): Promise<CacheEntry> {
    const { collectionId } = collection;
    const running = this.#samples.get(collectionId);
    if (running !== undefined) return running;
    const sample = this.#readSample(collection, index).finally(() => this.#samples.delete(collectionId));
    this.#samples.set(collectionId, sample);
    return sample;
  }

  async #readSample(collection: Collection, index: SearchableIndex): Promise<CacheEntry> {
    const { reader, sampleSemaphore } = this.#options;
    const pause = sampleSemaphore.acquire(collection.organizationId, neverCanceled);
    if (pause !== null) await pause;
    try {
      const { commits } = index;
      const sample = await reader.readSample(collection, index);
      // A full reading of an evicted vocabulary may have ended meanwhile.
      return this.#findCached(collection, index) ?? this.#cache(collection, index, { commits, ...sample });
    } finally {
      sampleSemaphore.release();
    }
  }

  /** Starts to replace a partial or outdated vocabulary, so rarely that it takes at most a small share of the time. */
  #refresh(collection: Collection, index: SearchableIndex, entry: CacheEntry): void {
    const { clock, onError } = this.#options;
    const { collectionId } = collection;
    const isUpToDate = !entry.isPartial && entry.commits === index.commits;
    const isEarly = clock.monotonic() < (this.#nextReadingAt.get(index) ?? 0);
    if (isUpToDate || isEarly || this.#isClosed || this.#fullReadings.has(collectionId)) return;
    this.#pauseReadings(index, 0);
    const reading = this.#readAll(collection, index)
      .catch((error: unknown) => {
        if (!this.#isClosed) onError(error, collectionId);
      })
      .finally(() => this.#fullReadings.delete(collectionId));
    this.#fullReadings.set(collectionId, reading);
  }

  async #readAll(collection: Collection, index: SearchableIndex): Promise<void> {
    const { clock, reader, readingSemaphore } = this.#options;
    const pause = readingSemaphore.acquire(collection.organizationId, neverCanceled);
    if (pause !== null) await pause;
    try {
      const startedAt = clock.monotonic();
      const { commits } = index;
      const vocabulary = await reader.readAll(collection, index);
      this.#cache(collection, index, { commits, vocabulary, isPartial: false });
      this.#pauseReadings(index, clock.monotonic() - startedAt);
    } finally {
      readingSemaphore.release();
    }
  }

  #pauseReadings(index: SearchableIndex, readingMs: number): void {
    const { vocabularyRefreshMsMin, vocabularyRefreshFactor } = queryLimits;
    const pauseMs = Math.max(vocabularyRefreshMsMin, vocabularyRefreshFactor * readingMs);
    this.#nextReadingAt.set(index, this.#options.clock.monotonic() + pauseMs);
  }

  #cache(
    { collectionId, organizationId }: Collection,
    index: SearchableIndex,
    read: Pick<CacheEntry, 'commits' | 'vocabulary' | 'isPartial'>,
  ): CacheEntry {
    const { vocabulary } = read;
    const entry = { ...read, index: new WeakRef(index), allowed: new AllowedDocuments(vocabulary) };
    const cache =
      this.#caches.get(organizationId) ?? new BoundedCache(queryLimits.organizationVocabulariesBytesMax);
    cache.set(collectionId, entry, vocabulary.bytes);
    this.#caches.set(organizationId, cache, cache.cost);
    return entry;
  }
}
