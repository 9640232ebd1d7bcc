import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { durationPercentile } from '../../../../src/core/duration-histogram.ts';
import type { UsageMetric } from '../../../../src/schemas/usage.ts';
import { now } from '../../browser/clock.ts';
import { BarChart } from '../../components/bar-chart.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Field, RadioGroup } from '../../components/field.tsx';
import { Card, Page } from '../../components/page.tsx';
import { LoadingText, SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { percentChange } from '../../format/scales.ts';
import { formatHour } from '../../format/times.ts';
import { useLoad } from '../../server/load.ts';
import { listCollections } from '../../server/retrieval.ts';
import { organization } from '../../server/session.ts';
import {
  addTimes,
  type OrganizationUsageCounters,
  sum,
  type UsagePeriod,
  type UsageStep,
  type UsageSteps,
  usageCounters,
  usageSteps,
} from '../../server/usage.ts';
import { texts } from '../../texts/en/usage.ts';
import { fill } from '../../texts/format-text.ts';
import { locale } from '../../texts/language.ts';

const periodLabels: readonly (readonly [UsagePeriod, string])[] = [
  ['day', texts.n24Hours],
  ['month', texts.n30Days],
  ['quarter', texts.n90Days],
];

interface UsageChart {
  readonly title: string;
  readonly getValue: (step: UsageStep) => number;
  readonly format: (value: number) => string;
  /** Summary of the whole period, shown next to the title. */
  readonly summary: (steps: readonly UsageStep[]) => number;
}

const total = (getValue: UsageChart['getValue']) => (steps: readonly UsageStep[]) => sum(steps, getValue);
const sumChart = (
  title: string,
  getValue: UsageChart['getValue'],
  format: UsageChart['format'] = formatCount,
): UsageChart => ({ title, getValue, format, summary: total(getValue) });

const queriesChart = sumChart(texts.queries, ({ queries }) => queries);
const documentCharts: readonly UsageChart[] = [
  sumChart(texts.documentsAdded, ({ added }) => added),
  sumChart(texts.pagesParsed, ({ pages }) => pages),
  sumChart(texts.bytesAdded, ({ bytes }) => bytes, formatBytes),
];

/** Average duration of a query in milliseconds; 0 without queries. */
function meanTime(steps: readonly UsageStep[]): number {
  const queries = sum(steps, (step) => step.queries);
  return queries === 0 ? 0 : sum(steps, (step) => step.queryMs * step.queries) / queries;
}

const percentiles = [
  ['p50', 0.5],
  ['p95', 0.95],
  ['p99', 0.99],
] as const;

/** Duration in milliseconds that a share of the queries does not exceed; 0 without queries. */
function percentileChart(share: number): UsageChart {
  return {
    title: texts.queryTime,
    getValue: ({ queryTimes }) => durationPercentile(queryTimes, share) ?? 0,
    format: formatDuration,
    summary: (steps) => durationPercentile(addTimes(steps.map(({ queryTimes }) => queryTimes)), share) ?? 0,
  };
}

/** Charts of the time of queries, by the name of the statistic. */
const queryTimeCharts: readonly (readonly [name: string, chart: UsageChart])[] = [
  [
    texts.average,
    { title: texts.queryTime, getValue: ({ queryMs }) => queryMs, format: formatDuration, summary: meanTime },
  ],
  ...percentiles.map(([name, share]) => [name, percentileChart(share)] as const),
];

/** Page of the organization's usage, over time and in total. */
export function UsagePage() {
  const [period, setPeriod] = useState<UsagePeriod>('month');
  const [collection, setCollection] = useState<string | null>(null);
  const currentId = organization.value?.organization_id;
  const collections = useLoad(listCollections, [currentId]);
  const steps = useLoad(
    (abort) => usageSteps({ period, collection, nowMs: now() }, abort),
    [currentId, period, collection],
  );
  const counters = useLoad(usageCounters, [currentId]);
  return (
    <Page
      title={texts.usage}
      subtitle={period === 'day' ? texts.hourly : texts.dailyUtc}
      actions={
        <RadioGroup
          legend={texts.period}
          name="span"
          value={period}
          options={periodLabels}
          onChange={setPeriod}
        />
      }
    >
      <Field label={texts.collection}>
        {(control) => (
          <select
            {...control}
            class="narrow"
            value={collection ?? ''}
            onChange={(event) => setCollection(event.currentTarget.value || null)}
          >
            <option value="">{texts.allCollections}</option>
            {collections.data?.collection_names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {steps.error !== null && steps.data === undefined ? (
        <Card title={texts.usage}>
          <LoadError error={steps.error} onRetry={steps.reload} />
        </Card>
      ) : (
        <div class="charts">
          <ChartCard chart={queriesChart} period={period} steps={steps.data} />
          {documentCharts.map((chart) => (
            <ChartCard key={chart.title} chart={chart} period={period} steps={steps.data} />
          ))}
          {/* The last one of an odd number has the width of the page. */}
          <QueryTimeCard period={period} steps={steps.data} />
        </div>
      )}
      <Card title={texts.total}>
        {counters.error !== null && counters.data === undefined ? (
          <LoadError error={counters.error} onRetry={counters.reload} />
        ) : counters.data === undefined ? (
          <SkeletonRows rows={6} />
        ) : (
          <CountersTable counters={counters.data} />
        )}
      </Card>
    </Page>
  );
}

interface ChartCardProps {
  readonly chart: UsageChart;
  readonly period: UsagePeriod;
  readonly steps: UsageSteps | undefined;
  readonly children?: ComponentChildren;
}

/** The time of queries: one statistic as a chart, and the percentiles of the whole period. */
function QueryTimeCard({ period, steps }: Omit<ChartCardProps, 'chart' | 'children'>) {
  const [statistic, setStatistic] = useState('p95');
  const chart = queryTimeCharts.find(([name]) => name === statistic)?.[1] ?? percentileChart(0.95);
  const times = steps && addTimes(steps.current.map(({ queryTimes }) => queryTimes));
  return (
    <ChartCard chart={chart} period={period} steps={steps}>
      <div class="statistics">
        <RadioGroup
          legend={texts.statistic}
          name="statistic"
          value={statistic}
          options={queryTimeCharts.map(([name]) => [name, name] as const)}
          onChange={setStatistic}
        />
        <dl class="number">
          {percentiles.map(([name, share]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <LoadingText value={times && percentileLabel(times, share)} width="6ch" />
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </ChartCard>
  );
}

function percentileLabel(times: readonly number[], share: number): string {
  const ms = durationPercentile(times, share);
  return ms === null ? '–' : formatDuration(ms);
}

function ChartCard({ chart: { title, getValue, format, summary }, period, steps, children }: ChartCardProps) {
  const bars = steps?.current.map((step) => ({
    label: stepLabel(period, step.start),
    value: getValue(step),
  }));
  return (
    <Card
      title={title}
      actions={
        <strong class="amount">
          <LoadingText value={steps && format(summary(steps.current))} width="5ch" />
        </strong>
      }
    >
      <p class="change muted number">
        {steps && changeLabel(period, { before: summary(steps.previous), after: summary(steps.current) })}
      </p>
      {children}
      <BarChart title={title} step={period === 'day' ? texts.hour : texts.day} bars={bars} format={format} />
    </Card>
  );
}

const changesFromBefore = {
  day: (change: string) => fill(texts.changeFromThe24Hours, { change }),
  month: (change: string) => fill(texts.changeFromThe30Days, { change }),
  quarter: (change: string) => fill(texts.changeFromThe90Days, { change }),
};

/** Comparison with the period before; empty if there is nothing to compare. */
function changeLabel(period: UsagePeriod, { before, after }: { before: number; after: number }): string {
  const change = percentChange(before, after);
  if (change === null) return '';
  const sign = change > 0 ? '+' : change < 0 ? '−' : '±';
  return changesFromBefore[period](`${sign}${formatCount(Math.abs(change))}`);
}

const days = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });

function stepLabel(period: UsagePeriod, start: number): string {
  return period === 'day' ? formatHour(start * 1_000) : days.format(new Date(start * 1_000));
}

interface CounterRow {
  readonly label: string;
  readonly month: UsageMetric;
  readonly total: UsageMetric;
}

function CountersTable({
  counters: { documents, models },
}: {
  readonly counters: OrganizationUsageCounters;
}) {
  const { all_time: total, billing_cycle: month } = documents;
  const { all_time: modelsTotal, billing_cycle: modelsMonth } = models;
  const rows: CounterRow[] = [
    { label: texts.documentsAdded, month: month.docs, total: total.docs },
    { label: texts.documentsParsed, month: month.ocr, total: total.ocr },
    { label: texts.documentsIndexed, month: month.indexed, total: total.indexed },
    { label: texts.queries, month: month.queries, total: total.queries },
    { label: texts.embeddingCalls, month: modelsMonth.embed, total: modelsTotal.embed },
    { label: texts.rerankingCalls, month: modelsMonth.rerank, total: modelsTotal.rerank },
  ];
  const columns: TableColumn<CounterRow>[] = [
    { title: texts.metric, cell: ({ label }) => label },
    { title: texts.thisMonth, isNumber: true, cell: (row) => formatCount(row.month.count) },
    { title: texts.bytesThisMonth, isNumber: true, cell: (row) => formatBytes(row.month.bytes) },
    { title: texts.total, isNumber: true, cell: (row) => formatCount(row.total.count) },
    { title: texts.totalBytes, isNumber: true, cell: (row) => formatBytes(row.total.bytes) },
  ];
  return <Table caption={texts.totalUsage} columns={columns} rows={rows} keyOf={({ label }) => label} />;
}
