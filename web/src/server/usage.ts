import { countDurations, durationBuckets } from '../../../src/core/duration-histogram.ts';
import type * as usage from '../../../src/schemas/usage.ts';
import { callApi } from './api-call.ts';
import { documentUsage, queryUsage } from './retrieval.ts';
import { organizationId } from './session.ts';

/** Usage of an organization in time steps, for charts. */

export const usagePeriods = ['day', 'month', 'quarter'] as const;
export type UsagePeriod = (typeof usagePeriods)[number];

const hourSeconds = 3_600;
const daySeconds = 86_400;
const periodSteps: Readonly<
  Record<UsagePeriod, { step: number; count: number; window: usage.AggregationWindow }>
> = {
  day: { step: hourSeconds, count: 24, window: 'hourly' },
  month: { step: daySeconds, count: 30, window: 'daily' },
  quarter: { step: daySeconds, count: 90, window: 'daily' },
};

export interface UsageStep {
  /** Start of the step, in seconds since the epoch. */
  readonly start: number;
  readonly queries: number;
  /** Average duration of a query in milliseconds; 0 without queries. */
  readonly queryMs: number;
  /** Number of queries per bucket of `durationBoundsMs`. */
  readonly queryTimes: readonly number[];
  readonly added: number;
  readonly indexed: number;
  readonly pages: number;
  readonly bytes: number;
}

interface UsageStepsRequest {
  readonly period: UsagePeriod;
  /** Null for all collections. */
  readonly collection: string | null;
  readonly nowMs: number;
}

/** Steps of a period, and those of the period of the same length before it. */
export interface UsageSteps {
  readonly current: readonly UsageStep[];
  readonly previous: readonly UsageStep[];
}

/** Returns one step per hour or day (UTC), oldest first, including steps without usage. */
export async function usageSteps(
  { period, collection, nowMs }: UsageStepsRequest,
  abort: AbortSignal,
): Promise<UsageSteps> {
  const { step, count, window } = periodSteps[period];
  const last = Math.floor(nowMs / 1_000 / step) * step;
  const request = {
    start_time: last - (2 * count - 1) * step,
    end_time: last + step - 1,
    aggregation_window: window,
    collection_names: collection === null ? null : [collection],
  };
  const [queries, documents] = await Promise.all([
    queryUsage({ ...request, include_times: true }, abort),
    documentUsage(request, abort),
  ]);
  const [queriesByStart, documentsByStart] = [byStart(queries), byStart(documents)];
  const steps = Array.from({ length: 2 * count }, (_, i) => {
    const start = request.start_time + i * step;
    return stepOf(start, queriesByStart.get(start) ?? [], documentsByStart.get(start) ?? []);
  });
  return { current: steps.slice(count), previous: steps.slice(0, count) };
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
): UsageStep {
  const eventRows = (event: usage.DocumentEventEnum) =>
    documents.filter(({ event_type }) => event_type === event);
  const queryCount = sum(queries, ({ event_count }) => event_count);
  const totalMs = sum(queries, ({ total_time_taken_ms }) => total_time_taken_ms);
  return {
    start,
    queries: queryCount,
    queryMs: queryCount === 0 ? 0 : totalMs / queryCount,
    queryTimes: queryTimesOf(queries),
    added: sum(eventRows('added'), ({ event_count }) => event_count),
    indexed: sum(eventRows('indexed'), ({ event_count }) => event_count),
    pages: sum(eventRows('parsed'), ({ total_pages }) => total_pages),
    bytes: sum(eventRows('added'), ({ total_file_size_bytes }) => total_file_size_bytes),
  };
}

/** Returns the number of queries per bucket of `durationBoundsMs`, for rows requested with `include_times`. */
export function queryTimesOf(rows: readonly usage.QueryUsageResponse[]): readonly number[] {
  return countDurations(rows.map(({ times }) => times?.histogram ?? []));
}

/** Adds histograms of query times. */
export function addTimes(all: readonly (readonly number[])[]): readonly number[] {
  return Array.from({ length: durationBuckets }, (_, i) => sum(all, (counts) => counts[i] ?? 0));
}

export function sum<Row>(rows: readonly Row[], getValue: (row: Row) => number): number {
  return rows.reduce((total, row) => total + getValue(row), 0);
}

export interface OrganizationUsageCounters {
  readonly documents: usage.UsageCountersResponse;
  readonly models: usage.ModelsUsageCountersResponse;
}

/** Usage of the current month (UTC) and in total. */
export async function usageCounters(abort: AbortSignal): Promise<OrganizationUsageCounters> {
  const options = { organizationId: organizationId(), signal: abort };
  const [documents, models] = await Promise.all([
    callApi<usage.UsageCountersResponse>('/v1/usage/counters', {}, options),
    callApi<usage.ModelsUsageCountersResponse>('/v1/usage/models/counters', {}, options),
  ]);
  return { documents, models };
}
