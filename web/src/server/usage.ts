import type * as usage from '../../../src/schemas/usage.ts';
import { call } from './call.ts';
import { documentUsage, queryUsage } from './retrieval.ts';
import { organizationId } from './session.ts';

/** What an organisation used, in steps of time that a chart can show. */

export const spans = ['day', 'month', 'quarter'] as const;
export type Span = (typeof spans)[number];

const hourSeconds = 3_600;
const daySeconds = 86_400;
const shapes: Readonly<Record<Span, { step: number; count: number; window: usage.AggregationWindow }>> = {
  day: { step: hourSeconds, count: 24, window: 'hourly' },
  month: { step: daySeconds, count: 30, window: 'daily' },
  quarter: { step: daySeconds, count: 90, window: 'daily' },
};

export interface Step {
  /** Of its beginning, in seconds since 1970. */
  readonly start: number;
  readonly queries: number;
  /** Milliseconds that a query took on average; 0 where there was none. */
  readonly queryMs: number;
  readonly added: number;
  readonly indexed: number;
  readonly pages: number;
  readonly bytes: number;
}

interface Asked {
  readonly span: Span;
  /** Null for all. */
  readonly collection: string | null;
  readonly nowMs: number;
}

/** Oldest first, a step for each hour or day (of UTC), also for those in which nothing happened. */
export async function usageSteps({ span, collection, nowMs }: Asked, abort: AbortSignal): Promise<Step[]> {
  const { step, count, window } = shapes[span];
  const last = Math.floor(nowMs / 1_000 / step) * step;
  const request = {
    start_time: last - (count - 1) * step,
    end_time: last + step - 1,
    aggregation_window: window,
    collection_names: collection === null ? null : [collection],
  };
  const [queries, documents] = await Promise.all([queryUsage(request, abort), documentUsage(request, abort)]);
  const [asked, happened] = [byStart(queries), byStart(documents)];
  return Array.from({ length: count }, (_, i) => {
    const start = request.start_time + i * step;
    return stepOf(start, asked.get(start) ?? [], happened.get(start) ?? []);
  });
}

function byStart<Row extends { readonly window_start: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.window_start);
    if (group === undefined) groups.set(row.window_start, [row]);
    else group.push(row);
  }
  return groups;
}

function stepOf(
  start: number,
  queries: readonly usage.QueryUsageResponse[],
  documents: readonly usage.DocumentUsageResponse[],
): Step {
  const of = (event: usage.DocumentEventEnum) => documents.filter(({ event_type }) => event_type === event);
  const asked = sum(queries, ({ event_count }) => event_count);
  const took = sum(queries, ({ total_time_taken_ms }) => total_time_taken_ms);
  return {
    start,
    queries: asked,
    queryMs: asked === 0 ? 0 : took / asked,
    added: sum(of('added'), ({ event_count }) => event_count),
    indexed: sum(of('indexed'), ({ event_count }) => event_count),
    pages: sum(of('parsed'), ({ total_pages }) => total_pages),
    bytes: sum(of('added'), ({ total_file_size_bytes }) => total_file_size_bytes),
  };
}

export function sum<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}

export interface Counters {
  readonly documents: usage.UsageCountersResponse;
  readonly models: usage.ModelsUsageCountersResponse;
}

/** This month (of UTC) and since the beginning. */
export async function usageCounters(abort: AbortSignal): Promise<Counters> {
  const options = { organizationId: organizationId(), signal: abort };
  const [documents, models] = await Promise.all([
    call<usage.UsageCountersResponse>('/v1/usage/counters', {}, options),
    call<usage.ModelsUsageCountersResponse>('/v1/usage/models/counters', {}, options),
  ]);
  return { documents, models };
}
