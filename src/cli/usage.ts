import { countDurations, durationPercentile } from '../core/duration-histogram.ts';
import type {
  DocumentUsageResponse,
  EmbedUsageResponse,
  ModelsUsageCountersResponse,
  QueryUsageResponse,
  RerankUsageResponse,
  UsageCountersResponse,
  UsageMetric,
} from '../schemas/usage.ts';
import { ApiResponseError } from './api-client.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { timeOption } from './option-values.ts';
import { printTable } from './terminal.ts';
import { formatBytes } from './text-layout.ts';

export const usageCommand: CommandSpec = {
  usage: 'usage [collections...]',
  settings: 'client',
  summary:
    'show the usage of the organization that owns the key: in total, or per minute, hour or day with --by',
  options: [
    {
      flags: '--by <window>',
      meaning: 'show one row per time window of this length',
      choices: ['minute', 'hour', 'day'],
    },
    {
      flags: '--since <time>',
      meaning: 'start, for example 2026-11-01 or 2026-11-01T08:00:00Z; default: 60 windows before the end',
    },
    { flags: '--until <time>', meaning: 'end; default: now' },
    jsonOption,
  ],
  examples: [
    'quarry usage',
    'quarry usage --by day',
    'quarry usage handbook --by hour --since 2026-11-20',
    'quarry usage --organization 3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10 --key <session>',
  ],
  run: usage,
};

const windows = {
  minute: { name: 'minutely', seconds: 60 },
  hour: { name: 'hourly', seconds: 3_600 },
  day: { name: 'daily', seconds: 86_400 },
} as const;
const windowsDefault = 60;

function usage(
  context: CommandContext,
  collections: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const by = options.by ?? (collections.length > 0 ? 'day' : undefined);
  if (by === undefined && options.since === undefined && options.until === undefined)
    return showTotals(context, options);
  return showWindows(context, collections, { ...options, by: by ?? 'day' });
}

async function showTotals({ api, terminal }: CommandContext, options: CommandOptions): Promise<number> {
  const counters = await api.call<UsageCountersResponse>('usage/counters', {});
  const models = await nullIfForbidden(api.call<ModelsUsageCountersResponse>('usage/models/counters', {}));
  if (options.json === true) {
    terminal.out(JSON.stringify({ counters, models }));
    return exitCodes.done;
  }
  const row = (name: string, month: UsageMetric, all: UsageMetric) => [
    name,
    ...formatMetric(month),
    ...formatMetric(all),
  ];
  const { all_time: all, billing_cycle: month } = counters;
  const rows = [
    row('Documents added', month.docs, all.docs),
    row('Documents parsed', month.ocr, all.ocr),
    row('Documents indexed', month.indexed, all.indexed),
    row('Queries', month.queries, all.queries),
    ...(models === null
      ? []
      : [
          row('Rerank calls', models.billing_cycle.rerank, models.all_time.rerank),
          row('Embed calls', models.billing_cycle.embed, models.all_time.embed),
        ]),
  ];
  const headings = ['Metric', '>This month', '>Bytes', '>Units', '>All time', '>Bytes', '>Units'];
  printTable(terminal, headings, rows);
  if (models === null) terminal.note(modelsHidden);
  return exitCodes.done;
}

/**
 * Returns null for a 403: a restricted key reads the usage of its collections, but not the model usage, which
 * belongs to the whole organization.
 */
async function nullIfForbidden<Reply>(call: Promise<Reply>): Promise<Reply | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiResponseError && error.status === 403) return null;
    throw error;
  }
}

const modelsHidden = 'Model usage is not shown, because this key is restricted.\n';

function formatMetric({ count, bytes, billable_units }: UsageMetric): string[] {
  return [String(count), formatBytes(bytes), String(billable_units)];
}

async function showWindows(
  { api, terminal, clock }: CommandContext,
  collections: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const window = windows[options.by as keyof typeof windows];
  const seconds = (text: string | null, fallback: number) =>
    text === null ? fallback : Math.floor(Date.parse(text) / 1_000);
  const end_time = seconds(timeOption(options, 'until'), Math.floor(clock.now() / 1_000));
  const start_time = seconds(
    timeOption(options, 'since'),
    Math.max(0, end_time - (windowsDefault - 1) * window.seconds),
  );
  const range = { start_time, end_time, aggregation_window: window.name };
  const collectionFilter = collections.length === 0 ? {} : { collection_names: collections };
  const documents = await api.call<DocumentUsageResponse[]>('usage/documents', {
    ...range,
    ...collectionFilter,
  });
  const queries = await api.call<QueryUsageResponse[]>('usage/queries', {
    ...range,
    ...collectionFilter,
    include_times: true,
  });
  const models = collections.length === 0 ? await nullIfForbidden(modelWindows(api, range)) : null;
  const hasModels = models !== null;
  const { reranker, embed } = models ?? { reranker: [], embed: [] };
  if (options.json === true) {
    terminal.out(JSON.stringify({ documents, queries, ...(hasModels ? { reranker, embed } : {}) }));
    return exitCodes.done;
  }
  const calls = { rerank: reranker.filter(isCall), embed: embed.filter(isCall) };
  const starts = [...documents, ...queries, ...calls.rerank, ...calls.embed].map((row) => row.window_start);
  const rows = [...new Set(starts)]
    .sort((a, b) => a - b)
    .map((start) => {
      const at = <Row extends { readonly window_start: number }>(all: readonly Row[]) =>
        all.filter((row) => row.window_start === start);
      const events = (type: string) => sumEvents(at(documents).filter((row) => row.event_type === type));
      return [
        formatWindowStart(start, window.seconds),
        ...['added', 'indexed', 'deleted'].map((type) => String(events(type))),
        String(sumEvents(at(queries))),
        ...formatPercentiles(at(queries)),
        ...(hasModels ? [String(sumEvents(at(calls.rerank))), String(sumEvents(at(calls.embed)))] : []),
      ];
    });
  if (rows.length === 0) terminal.note('No usage in this time range.\n');
  const headings = ['From (UTC)', '>Added', '>Indexed', '>Deleted', '>Queries', ...percentileHeadings];
  printTable(terminal, [...headings, ...(hasModels ? ['>Rerank', '>Embed'] : [])], rows);
  if (collections.length === 0 && models === null) terminal.note(modelsHidden);
  return exitCodes.done;
}

/**
 * Returns the model usage. Not restricted to a collection, because model usage is not recorded per
 * collection.
 */
async function modelWindows(api: CommandContext['api'], range: object) {
  const reranker = await api.call<RerankUsageResponse[]>('usage/models/reranker', range);
  return { reranker, embed: await api.call<EmbedUsageResponse[]>('usage/models/embed', range) };
}

/** Whether the event is a direct call of the model API, not part of processing documents or queries. */
function isCall({ explicit_call }: { readonly explicit_call: boolean }): boolean {
  return explicit_call;
}

function sumEvents(rows: readonly { readonly event_count: number }[]): number {
  return rows.reduce((total, row) => total + row.event_count, 0);
}

const percentileHeadings = ['>p50 ms', '>p95 ms', '>p99 ms'];

/** Returns the percentiles of the times of queries in milliseconds. */
function formatPercentiles(rows: readonly QueryUsageResponse[]): string[] {
  const counts = countDurations(rows.map(({ times }) => times?.histogram ?? []));
  return [0.5, 0.95, 0.99].map((share) => durationPercentile(counts, share)?.toFixed(1) ?? '-');
}

function formatWindowStart(seconds: number, window: number): string {
  const text = new Date(seconds * 1_000).toISOString();
  return window === windows.day.seconds ? text.slice(0, 10) : text.slice(0, 16).replace('T', ' ');
}
