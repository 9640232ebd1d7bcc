import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type {
  DocumentEventEnum,
  DocumentUsageResponse,
  EmbedUsageResponse,
  ModelsUsageCountersResponse,
  QueryEnum,
  QueryUsageResponse,
  RerankUsageResponse,
  UsageCountersResponse,
  UsageMetric,
  UsageRequest,
} from '../schemas/usage.ts';
import type { Collections } from '../store/collections.ts';
import type { Counters, UsageKind } from '../usage/facts.ts';
import { namedCounters, type UsageLedger, type WindowTotals } from '../usage/ledger.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { Call } from './call.ts';
import { collectionsOf } from './collections.ts';
import { seesCollection } from './sight.ts';

type UsageCall = Call<OrganisationPrincipal>;

interface Row<Kind extends UsageKind> {
  readonly windowStart: number;
  readonly about: string;
  readonly what: string;
  readonly counters: Counters<Kind>;
}

/** Adds up the metric of a counter from its rows. */
type Measure<Kind extends UsageKind> = (row: Row<Kind>) => UsageMetric;

/*
 * What a unit on a bill is: a document added, a page parsed, a token embedded while indexing, a query, and for the
 * models a token read by a call of the model itself.
 */
const measures = {
  docs: (row: Row<'documents'>) =>
    metric(row.counters.event_count, row.counters.total_file_size_bytes, row.counters.event_count),
  ocr: (row: Row<'documents'>) =>
    metric(row.counters.event_count, row.counters.total_file_size_bytes, row.counters.total_pages),
  indexed: (row: Row<'documents'>) =>
    metric(row.counters.event_count, row.counters.total_file_size_bytes, row.counters.total_embedding_tokens),
  queries: (row: Row<'queries'>) =>
    metric(row.counters.event_count, row.counters.total_queried_bytes, row.counters.event_count),
  rerank: (row: Row<'rerank'>) =>
    metric(row.counters.event_count, row.counters.total_request_bytes, row.counters.total_reranker_tokens),
  embed: (row: Row<'embed'>) =>
    metric(row.counters.event_count, row.counters.total_request_bytes, row.counters.total_request_tokens),
} as const;

/** The six operations of `/usage/*`: each organisation sees what it used itself. */
export class UsageService {
  readonly #meter: UsageMeter;
  readonly #ledger: UsageLedger;
  readonly #collections: Pick<Collections, 'get' | 'list'>;

  constructor(options: {
    readonly meter: UsageMeter;
    readonly ledger: UsageLedger;
    readonly collections: Pick<Collections, 'get' | 'list'>;
  }) {
    this.#meter = options.meter;
    this.#ledger = options.ledger;
    this.#collections = options.collections;
  }

  /** `POST /usage/documents`. Errors: 400 bad range, 404 unknown collection. */
  async documents(call: UsageCall, request: UsageRequest): Promise<DocumentUsageResponse[]> {
    const rows = await this.#windows(call, request, 'documents', await this.#collectionIds(call, request));
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      collection_id: row.about,
      event_type: row.what as DocumentEventEnum,
      ...row.counters,
    }));
  }

  /** `POST /usage/queries`. Errors: 400 bad range, 404 unknown collection. */
  async queries(call: UsageCall, request: UsageRequest): Promise<QueryUsageResponse[]> {
    const rows = await this.#windows(call, request, 'queries', await this.#collectionIds(call, request));
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      collection_id: row.about,
      query_type: row.what as QueryEnum,
      ...row.counters,
    }));
  }

  /** `POST /usage/models/reranker`; collection names are ignored. Errors: 400 bad range. */
  async reranker(call: UsageCall, request: UsageRequest): Promise<RerankUsageResponse[]> {
    const rows = await this.#windows(call, request, 'rerank', null);
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      reranker_model: row.about,
      explicit_call: row.what === 'true',
      ...row.counters,
    }));
  }

  /** `POST /usage/models/embed`; collection names are ignored. Errors: 400 bad range. */
  async embed(call: UsageCall, request: UsageRequest): Promise<EmbedUsageResponse[]> {
    const rows = await this.#windows(call, request, 'embed', null);
    return rows.map((row) => ({
      window_start: row.windowStart,
      organization_id: call.principal.organizationId,
      embedding_model: row.about,
      explicit_call: row.what === 'true',
      ...row.counters,
    }));
  }

  /** `POST /usage/counters`: since the first day, and in the calendar month of UTC. */
  async counters(call: UsageCall): Promise<UsageCountersResponse> {
    const { organizationId } = call.principal;
    await this.#meter.settle();
    const about = await this.#seen(call);
    const seen = <Kind extends UsageKind>(rows: Row<Kind>[]) =>
      about === null ? rows : rows.filter((row) => about.has(row.about));
    const stats = async (read: 'allTime' | 'thisMonth') => {
      const documents = seen(named('documents', await this.#ledger[read](organizationId, 'documents')));
      const queries = seen(named('queries', await this.#ledger[read](organizationId, 'queries')));
      const of = (event: DocumentEventEnum) => documents.filter((row) => row.what === event);
      return {
        docs: sum(of('added'), measures.docs),
        ocr: sum(of('parsed'), measures.ocr),
        indexed: sum(of('indexed'), measures.indexed),
        queries: sum(queries, measures.queries),
      };
    };
    return { all_time: await stats('allTime'), billing_cycle: await stats('thisMonth') };
  }

  /** `POST /usage/models/counters`: calls of the model operations only, not the work of documents and queries. */
  async modelsCounters(call: UsageCall): Promise<ModelsUsageCountersResponse> {
    const { organizationId } = call.principal;
    await this.#meter.settle();
    const stats = async (read: 'allTime' | 'thisMonth') => {
      const rerank = named('rerank', await this.#ledger[read](organizationId, 'rerank'));
      const embed = named('embed', await this.#ledger[read](organizationId, 'embed'));
      return {
        rerank: sum(rerank.filter(isExplicit), measures.rerank),
        embed: sum(embed.filter(isExplicit), measures.embed),
      };
    };
    return { all_time: await stats('allTime'), billing_cycle: await stats('thisMonth') };
  }

  async #windows<Kind extends UsageKind>(
    call: UsageCall,
    request: UsageRequest,
    kind: Kind,
    about: ReadonlySet<string> | null,
  ): Promise<Row<Kind>[]> {
    checkRange(request);
    await this.#meter.settle();
    const totals = await this.#ledger.windows({
      organizationId: call.principal.organizationId,
      kind,
      startTime: request.start_time,
      endTime: request.end_time,
      window: request.aggregation_window,
      about,
    });
    return named(kind, totals);
  }

  /** Null for all. Of a key with a restriction only what it names; those that are gone have no name any more. */
  async #seen({ principal }: UsageCall): Promise<ReadonlySet<string> | null> {
    if (principal.restriction === undefined) return null;
    const seen = await collectionsOf(this.#collections, principal);
    return new Set(seen.map(({ collectionId }) => collectionId));
  }

  async #collectionIds(call: UsageCall, request: UsageRequest): Promise<ReadonlySet<string> | null> {
    if (request.collection_names === undefined || request.collection_names === null) return this.#seen(call);
    const { organizationId } = call.principal;
    const ids = request.collection_names.map((name) => {
      const collection = seesCollection(call.principal, name)
        ? this.#collections.get(organizationId, name)
        : undefined;
      if (collection !== undefined) return collection.collectionId;
      throw new AppError('not_found', `The collection "${name}" does not exist.`);
    });
    return new Set(ids);
  }
}

function checkRange({ start_time: start, end_time: end }: UsageRequest): void {
  if (start < 0 || end > limits.usageSecondsMax) {
    throw new AppError(
      'bad_request',
      `start_time and end_time are seconds since 1970-01-01 UTC, from 0 to ${limits.usageSecondsMax}.`,
    );
  }
  if (start > end) {
    throw new AppError('bad_request', `end_time (${end}) must not lie before start_time (${start}).`);
  }
}

function named<Kind extends UsageKind>(kind: Kind, totals: readonly WindowTotals[]): Row<Kind>[] {
  return totals.map(({ windowStart, about, what, amounts }) => ({
    windowStart,
    about,
    what,
    counters: namedCounters(kind, amounts),
  }));
}

function isExplicit(row: { readonly what: string }): boolean {
  return row.what === 'true';
}

function sum<Kind extends UsageKind>(rows: readonly Row<Kind>[], measure: Measure<Kind>): UsageMetric {
  const total = { count: 0, bytes: 0, billable_units: 0 };
  for (const row of rows) {
    const measured = measure(row);
    total.count += measured.count;
    total.bytes += measured.bytes;
    total.billable_units += measured.billable_units;
  }
  return total;
}

function metric(count: number, bytes: number, billable: number): UsageMetric {
  return { count, bytes, billable_units: billable };
}
