import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { QueryEnum } from '../schemas/usage.ts';
import { countQueries, type SearchRequest } from '../search/query-request.ts';
import type { QueryOutcome } from '../search/search-result.ts';
import type { ServiceCall } from './call.ts';

export interface SlowQueryLogOptions {
  /** Milliseconds from the request line to the results. */
  readonly thresholdMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called for each slow query, whether it is logged or not. */
  readonly count: () => void;
}

/** A query that has ended. */
export interface FinishedQuery {
  readonly call: ServiceCall<OrganizationPrincipal>;
  readonly search: SearchRequest;
  readonly type: QueryEnum;
  /** Text of the query as sent. */
  readonly query: string;
  /** When the search started after its turn came, on `Clock.monotonic()`; null if it did not start. */
  readonly startedAt: number | null;
}

/**
 * Logs one line per slow query, with times and plan, and at most ten lines per second. For organizations with zero data
 * retention it contains no text of the query, the filter or the collection.
 */
export class SlowQueryLog {
  readonly #options: SlowQueryLogOptions;
  #second = 0;
  #linesInSecond = 0;
  #suppressed = 0;

  constructor(options: SlowQueryLogOptions) {
    this.#options = options;
  }

  record(finished: FinishedQuery, result: QueryOutcome): void {
    const ms = this.#msOf(finished);
    if (ms < this.#options.thresholdMs) return;
    const { hits, times, candidates, selection, models } = result;
    const fields = {
      ...commonFields(finished, ms),
      results: hits.length,
      stages: Object.fromEntries(Object.entries(times).map(([stage, value]) => [stage, round(value)])),
      plan: {
        shards: candidates.shards.map((shard) => ({ ...shard, ms: round(shard.ms) })),
        checked: selection.checked,
        complete: selection.complete,
        rescored: selection.rescored,
        reranked: models.reranked,
        embedded: models.embedded,
        missing: models.missing.map(({ part, model }) => ({ part, model })),
      },
    };
    this.#write(fields);
  }

  /** For a query that failed, for example at its time limit. */
  recordFailure(finished: FinishedQuery, error: unknown): void {
    const ms = this.#msOf(finished);
    if (ms < this.#options.thresholdMs) return;
    const code = error instanceof AppError ? error.code : error instanceof Error ? error.name : 'unknown';
    this.#write({ ...commonFields(finished, ms), error: code });
  }

  #msOf({ call }: FinishedQuery): number {
    return this.#options.clock.monotonic() - call.receivedAt;
  }

  #write(fields: Readonly<Record<string, unknown>>): void {
    const { clock, logger, count } = this.#options;
    count();
    const second = Math.floor(clock.monotonic() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#linesInSecond = 0;
    }
    if (this.#linesInSecond >= limits.slowQueryLinesPerSecondMax) {
      this.#suppressed += 1;
      return;
    }
    this.#linesInSecond += 1;
    const suppressed = this.#suppressed === 0 ? {} : { suppressedLines: this.#suppressed };
    this.#suppressed = 0;
    logger.warn({ ...fields, ...suppressed }, 'slow query');
  }
}

function commonFields({ call, search, type, query, startedAt }: FinishedQuery, ms: number) {
  const { collection, k, filter, reranker, isWide, isRestricted = false, control, members = null } = search;
  const { requestId, principal, receivedAt } = call;
  const queries = countQueries(search);
  return {
    requestId,
    organizationId: principal.organizationId,
    collectionId: collection.collectionId,
    ...(members === null ? {} : { collectionIds: members.map((member) => member.collection.collectionId) }),
    ...(principal.zdr ? {} : textFields(collection.name, query)),
    type,
    queryBytes: Buffer.byteLength(query),
    ...(queries > 1 ? { queries } : {}),
    ms: round(ms),
    waitMs: startedAt === null ? null : round(startedAt - receivedAt),
    k,
    reranker,
    latencyMode: isWide ? 'high' : 'low',
    hasFilter: filter !== null,
    isRestricted,
    weights: control.weights,
    syntax: control.operators === null ? 'natural' : 'operators',
  };
}

function textFields(collection: string, query: string) {
  return { collection, query: query.slice(0, limits.slowQueryTextUnitsMax) };
}

/** Rounds to tenths of a millisecond. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
