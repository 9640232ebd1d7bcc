import { AppError } from '../core/app-error.ts';
import { durationBoundsMs, durationPercentile } from '../core/duration-histogram.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type {
  DocumentEventEnum,
  DocumentUsageResponse,
  EmbedUsageResponse,
  ModelsUsageCountersResponse,
  QueryEnum,
  QueryTimes,
  QueryUsageResponse,
  RerankUsageResponse,
  UsageCountersResponse,
  UsageMetric,
  UsageRequest,
} from '../schemas/usage.ts';
import type { Collections } from '../storage/collections.ts';
import { namedCounters, type UsageLedger, type WindowTotals } from '../usage/ledger.ts';
import type { UsageMeter } from '../usage/meter.ts';
import { queryTimesOf, type UsageCounters, type UsageKind } from '../usage/usage-events.ts';
import { canAccessCollection } from './access-filter.ts';
import type { ServiceCall } from './call.ts';
import { listVisibleCollections } from './collections.ts';

type UsageCall = ServiceCall<OrganizationPrincipal>;

interface NamedRow<Kind extends UsageKind> extends WindowTotals {
  readonly counters: UsageCounters<Kind>;
}

/** Computes the metric of a counter from one of its rows. */
type MetricReader<Kind extends UsageKind> = (row: NamedRow<Kind>) => UsageMetric;

/*
 * Billing units: an added document, a parsed page, a token embedded during indexing, a query, and, for the
 * models, a token read by a direct model call.
 */
const metricReaders = {
  docs: (row: NamedRow<'documents'>) =>
    createMetric(row.counters.event_count, row.counters.total_file_size_bytes, row.counters.event_count),
  ocr: (row: NamedRow<'documents'>) =>
    createMetric(row.counters.event_count, row.counters.total_file_size_bytes, row.counters.total_pages),
  indexed: (row: NamedRow<'documents'>) =>
    createMetric(
      row.counters.event_count,
      row.counters.total_file_size_bytes,
      row.counters.total_embedding_tokens,
    ),
  queries: (row: NamedRow<'queries'>) =>
    createMetric(row.counters.event_count, row.counters.total_queried_bytes, row.counters.event_count),
  rerank: (row: NamedRow<'rerank'>) =>
    createMetric(
      row.counters.event_count,
      row.counters.total_request_bytes,
      row.counters.total_reranker_tokens,
    ),
  embed: (row: NamedRow<'embed'>) =>
    createMetric(
      row.counters.event_count,
      row.counters.total_request_bytes,
      row.counters.total_request_tokens,
    ),
} as const;

/** The six operations of `/usage/*`. Each organization reads only its own usage. */
export class UsageService {
  readonly #meter: UsageMeter;
  readonly #ledger: UsageLedger;
  readonly #collections: Pick<Collections, 'resolve' | 'list'>;

  constructor(options: {
    readonly meter: UsageMeter;
    readonly ledger: UsageLedger;
    readonly collections: Pick<Collections, 'resolve' | 'list'>;
  }) {
    this.#meter = options.meter;
    this.#ledger = options.ledger;
    this.#collections = options.collections;
  }

  /** `POST /usage/documents`. Errors: 404 unknown collection. */
  async documents(call: UsageCall, request: UsageRequest): Promise<DocumentUsageResponse[]> {
    const rows = await this.#windows(call, request, 'documents', await this.#collectionIds(call, request));
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      collection_id: row.subjectId,
      event_type: row.category as DocumentEventEnum,
      ...row.counters,
    }));
  }

  /** `POST /usage/queries`. Errors: 404 unknown collection. */
  async queries(call: UsageCall, request: UsageRequest): Promise<QueryUsageResponse[]> {
    const rows = await this.#windows(call, request, 'queries', await this.#collectionIds(call, request));
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      collection_id: row.subjectId,
      query_type: row.category as QueryEnum,
      ...row.counters,
      ...(request.include_times === true ? summarizeTimes(row.amounts) : {}),
    }));
  }

  /** `POST /usage/models/reranker`; ignores collection names. */
  async reranker(call: UsageCall, request: UsageRequest): Promise<RerankUsageResponse[]> {
    const rows = await this.#windows(call, request, 'rerank', null);
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      reranker_model: row.subjectId,
      explicit_call: row.category === 'true',
      ...row.counters,
    }));
  }

  /** `POST /usage/models/embed`; ignores collection names. */
  async embed(call: UsageCall, request: UsageRequest): Promise<EmbedUsageResponse[]> {
    const rows = await this.#windows(call, request, 'embed', null);
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      embedding_model: row.subjectId,
      explicit_call: row.category === 'true',
      ...row.counters,
    }));
  }

  /** `POST /usage/counters`: all-time totals, and those of the current calendar month in UTC. */
  async counters(call: UsageCall): Promise<UsageCountersResponse> {
    const { organizationId } = call.principal;
    await this.#meter.tryFlush();
    const subjectIds = await this.#visibleCollectionIds(call);
    const filterVisible = <Kind extends UsageKind>(rows: NamedRow<Kind>[]) =>
      subjectIds === null ? rows : rows.filter((row) => subjectIds.has(row.subjectId));
    const stats = async (read: 'allTime' | 'thisMonth') => {
      const documents = filterVisible(
        toNamedRows('documents', await this.#ledger[read](organizationId, 'documents')),
      );
      const queries = filterVisible(
        toNamedRows('queries', await this.#ledger[read](organizationId, 'queries')),
      );
      const rowsOfEvent = (event: DocumentEventEnum) => documents.filter((row) => row.category === event);
      return {
        docs: sumMetrics(rowsOfEvent('added'), metricReaders.docs),
        ocr: sumMetrics(rowsOfEvent('parsed'), metricReaders.ocr),
        indexed: sumMetrics(rowsOfEvent('indexed'), metricReaders.indexed),
        queries: sumMetrics(queries, metricReaders.queries),
      };
    };
    return { all_time: await stats('allTime'), billing_cycle: await stats('thisMonth') };
  }

  /**
   * `POST /usage/models/counters`: only calls of model operations, not model work for documents and queries.
   */
  async modelsCounters(call: UsageCall): Promise<ModelsUsageCountersResponse> {
    const { organizationId } = call.principal;
    await this.#meter.tryFlush();
    const stats = async (read: 'allTime' | 'thisMonth') => {
      const rerank = toNamedRows('rerank', await this.#ledger[read](organizationId, 'rerank'));
      const embed = toNamedRows('embed', await this.#ledger[read](organizationId, 'embed'));
      return {
        rerank: sumMetrics(rerank.filter(isExplicit), metricReaders.rerank),
        embed: sumMetrics(embed.filter(isExplicit), metricReaders.embed),
      };
    };
    return { all_time: await stats('allTime'), billing_cycle: await stats('thisMonth') };
  }

  async #windows<Kind extends UsageKind>(
    call: UsageCall,
    request: UsageRequest,
    kind: Kind,
    subjectIds: ReadonlySet<string> | null,
  ): Promise<NamedRow<Kind>[]> {
    await this.#meter.tryFlush();
    const totals = await this.#ledger.windows({
      organizationId: call.principal.organizationId,
      kind,
      startTime: request.start_time,
      endTime: request.end_time,
      window: request.aggregation_window,
      subjectIds,
    });
    return toNamedRows(kind, totals);
  }

  /**
   * Null for all. A restricted key gets only the collections it names; deleted collections no longer have a
   * name.
   */
  async #visibleCollectionIds({ principal }: UsageCall): Promise<ReadonlySet<string> | null> {
    if (principal.restriction === undefined) return null;
    const filterVisible = await listVisibleCollections(this.#collections, principal);
    return new Set(filterVisible.map(({ collectionId }) => collectionId));
  }

  async #collectionIds(call: UsageCall, request: UsageRequest): Promise<ReadonlySet<string> | null> {
    if (request.collection_names === undefined || request.collection_names === null)
      return this.#visibleCollectionIds(call);
    const { organizationId } = call.principal;
    const ids = request.collection_names.map((name) => {
      const collection = this.#collections.resolve(organizationId, name);
      if (collection !== undefined && canAccessCollection(call.principal, collection.name))
        return collection.collectionId;
      throw new AppError('not_found', `The collection "${name}" does not exist.`);
    });
    return new Set(ids);
  }
}

function toNamedRows<Kind extends UsageKind>(kind: Kind, totals: readonly WindowTotals[]): NamedRow<Kind>[] {
  return totals.map((row) => ({ ...row, counters: namedCounters(kind, row.amounts) }));
}

/** Returns the field `times` of a row of queries; nothing if it has no recorded times. */
function summarizeTimes(amounts: readonly number[]): { times?: QueryTimes } {
  const counts = queryTimesOf(amounts);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => durationPercentile(counts, share));
  if (p50 == null || p95 == null || p99 == null) return {};
  const buckets = counts.map((count, i) => ({ le_ms: durationBoundsMs[i] ?? null, count }));
  return {
    times: {
      count: counts.reduce((sum, count) => sum + count, 0),
      p50_ms: p50,
      p95_ms: p95,
      p99_ms: p99,
      histogram: buckets.filter(({ count }) => count > 0),
    },
  };
}

function isExplicit(row: { readonly category: string }): boolean {
  return row.category === 'true';
}

function sumMetrics<Kind extends UsageKind>(
  rows: readonly NamedRow<Kind>[],
  measure: MetricReader<Kind>,
): UsageMetric {
  const total = { count: 0, bytes: 0, billable_units: 0 };
  for (const row of rows) {
    const metricOfRow = measure(row);
    total.count += metricOfRow.count;
    total.bytes += metricOfRow.bytes;
    total.billable_units += metricOfRow.billable_units;
  }
  return total;
}

function createMetric(count: number, bytes: number, billable: number): UsageMetric {
  return { count, bytes, billable_units: billable };
}
