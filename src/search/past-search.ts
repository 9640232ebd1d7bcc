import { AppError } from '../core/app-error.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { queryLimits } from '../core/query-limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import { type Collection, getGeneration } from '../storage/collections.ts';
import type { HistoryMoment } from '../storage/history-tables.ts';
import type { NumberedEntry, VersionHistory } from '../storage/version-history.ts';
import { CombinedIndex } from './combined-index.ts';
import { intersectFilters } from './intersect-filters.ts';
import { type PastIndexOptions, withPastIndex } from './past-index.ts';
import type { SearchRequest } from './query-request.ts';
import type { SearchableIndex, SearchComponents } from './search-components.ts';

/** The moment of a query: a time in milliseconds since the epoch, or the number of a change. */
export type AsOf = { readonly at: number } | { readonly sequence: number };

/** The state of a collection at an earlier moment, as a difference to the present. */
export interface PastState {
  /** Live versions that became searchable later. */
  readonly hidden: readonly number[];
  /** All versions that became searchable later. */
  readonly added: ReadonlySet<number>;
  /** Versions that were searchable then and are not now, with the changes that removed them. */
  readonly restored: ReadonlyMap<number, HistoryMoment>;
  /** The moment as a number: the changes up to it had been made. */
  readonly sequence: number;
  /** Index of the restored versions; null if there are none. */
  readonly index: SearchableIndex | null;
  /** Versions that the search finds. */
  readonly found: Set<number>;
}

export interface PastSearchOptions extends PastIndexOptions {
  readonly history: Pick<VersionHistory, 'findStart' | 'findLast' | 'listAfter' | 'waitForWrites'>;
  /** Bounds the queries of earlier moments, and with them the memory of their indexes. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
}

type PastRequest = SearchRequest & { readonly asOf: AsOf };

/** Changes after the moment of a query. */
interface LaterChanges {
  readonly entries: readonly NumberedEntry[];
  /** Number of the last change, or that of the start of the history. */
  readonly last: number;
}

type StateChanges = Pick<PastState, 'hidden' | 'restored' | 'added' | 'sequence'>;

/** Queries the state of a collection at an earlier moment: see docs/decisions/evidence-replay.md. */
export class PastSearch {
  readonly #options: PastSearchOptions;

  constructor(options: PastSearchOptions) {
    this.#options = options;
  }

  /** Returns the number of the last change of a collection that keeps its versions; null for others. */
  async findSequence({ collectionId, historyDays }: Collection): Promise<number | null> {
    if (historyDays === undefined) return null;
    const { history } = this.#options;
    await history.waitForWrites();
    return (await history.findLast(collectionId))?.sequence ?? null;
  }

  /**
   * Runs a query of an earlier moment: `query` gets the request with its `past`, up to `pastAttemptsMax` times while
   * documents that concern the result are replaced. `remainingMs` returns the time left. Errors: 400 for a moment that is
   * not kept, or with too many changes since; 429 if too many such queries of the organization wait; 503 if the documents
   * change too fast.
   */
  async run<Result>(
    request: PastRequest,
    remainingMs: () => number,
    query: (request: SearchRequest) => Promise<Result>,
  ): Promise<Result> {
    const { semaphore } = this.#options;
    const { collection, caller } = request;
    const pause = semaphore.acquire(collection.organizationId, caller);
    if (pause !== null) await pause;
    try {
      for (let attempt = 1; attempt <= queryLimits.pastAttemptsMax; attempt += 1) {
        const outcome = await this.#attempt(request, remainingMs, query);
        if (outcome !== null) return outcome.result;
      }
    } finally {
      semaphore.release();
    }
    throw new AppError('unavailable', 'The documents of the result are changing. Try again shortly.', {
      retryAfterMs: 1_000,
    });
  }

  /** Returns null if a change meanwhile concerns the result. */
  async #attempt<Result>(
    request: PastRequest,
    remainingMs: () => number,
    query: (request: SearchRequest) => Promise<Result>,
  ): Promise<{ readonly result: Result } | null> {
    const { collection, asOf, caller } = request;
    const { collectionId, dimensions } = collection;
    const changes = await this.#listChanges(collection, asOf);
    const state = toPastState(changes, asOf);
    const run = async (index: SearchableIndex | null) => {
      const past: PastState = { ...state, index, found: new Set() };
      const result = await query({ ...request, past, deadlineMs: remainingMs() });
      const later = toPastState(await this.#listChanges(collection, asOf), asOf);
      return isAffected(past, later) ? null : { result };
    };
    if (state.restored.size === 0) return run(null);
    const generation = getGeneration(collection);
    const set = { collectionId, dimensions, generation, versions: state.restored.keys() };
    const endsAt = this.#options.clock.monotonic() + remainingMs();
    return withPastIndex(this.#options, set, { endsAt, caller }, run);
  }

  async #listChanges(collection: Collection, asOf: AsOf): Promise<LaterChanges> {
    const { history } = this.#options;
    const { collectionId, name, historyDays } = collection;
    // Searches see changes that are not stored yet.
    await history.waitForWrites();
    const start = historyDays === undefined ? undefined : history.findStart(collectionId);
    if (start === undefined)
      throw new AppError(
        'bad_request',
        `The collection ${JSON.stringify(name)} keeps no history. Set its history_days; the history begins then.`,
      );
    const isTooEarly = 'at' in asOf ? asOf.at < start.at : asOf.sequence < start.sequence;
    if (isTooEarly)
      throw new AppError(
        'bad_request',
        `as_of is before the history of the collection ${JSON.stringify(name)}, which begins at ${toTimestamp(start.at)}.`,
      );
    const last = (await history.findLast(collectionId)) ?? start;
    if ('sequence' in asOf && asOf.sequence > last.sequence)
      throw new AppError(
        'bad_request',
        'as_of is a moment that the collection has not reached: its data was restored from an earlier backup.',
      );
    const isAfter = (entry: NumberedEntry) =>
      entry.sequence > start.sequence && ('at' in asOf ? entry.at > asOf.at : entry.sequence > asOf.sequence);
    const entries = await history.listAfter(collectionId, isAfter, queryLimits.pastChangesMax);
    if (entries !== null) return { entries, last: last.sequence };
    throw new AppError(
      'bad_request',
      `More than ${queryLimits.pastChangesMax.toLocaleString('en-US')} documents of the collection changed since as_of. Send a later moment.`,
    );
  }
}

/** Returns the state before the later changes. */
function toPastState({ entries, last }: LaterChanges, asOf: AsOf): StateChanges {
  const added = new Set<number>();
  const hidden = new Set<number>();
  const restored = new Map<number, HistoryMoment>();
  for (const { sequence, at, add, removed } of entries) {
    if (removed !== undefined && !added.has(removed.version)) restored.set(removed.version, { sequence, at });
    if (removed !== undefined) hidden.delete(removed.version);
    if (add === undefined) continue;
    added.add(add);
    hidden.add(add);
  }
  const [first] = entries;
  const lastBefore = first === undefined ? last : first.sequence - 1;
  return {
    hidden: [...hidden],
    added,
    restored,
    sequence: 'sequence' in asOf ? asOf.sequence : lastBefore,
  };
}

/** Whether changes during the search concern its result: a found version is too new, or one of the moment was removed. */
function isAffected({ restored, added, found }: PastState, later: StateChanges): boolean {
  if (later.restored.size !== restored.size) return true;
  for (const version of later.added) if (!added.has(version) && found.has(version)) return true;
  return false;
}

/** Returns components that search the state of an earlier moment. Create them for each request. */
export function combinePast(
  components: SearchComponents,
  { collection, filter }: Pick<SearchRequest, 'collection' | 'filter'>,
  { hidden, index: restored, found }: PastState,
): SearchComponents {
  const { collectionId } = collection;
  const present =
    hidden.length === 0
      ? filter
      : intersectFilters(filter, { kind: 'version', operator: 'not_in', versions: hidden });
  const index = new CombinedIndex({
    members: [
      {
        index: components.getIndex(collectionId, getGeneration(collection)),
        collectionId,
        filter: present,
      },
      ...(restored === null ? [] : [{ index: restored, collectionId, filter }]),
    ],
    clock: components.clock,
    onFound: (_, versions) => {
      for (const version of versions) found.add(version);
    },
  });
  return { ...components, getIndex: () => index };
}
