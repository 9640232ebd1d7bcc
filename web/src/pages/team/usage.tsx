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

const periodLabels: readonly (readonly [UsagePeriod, string])[] = [
  ['day', '24 hours'],
  ['month', '30 days'],
  ['quarter', '90 days'],
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

const queriesChart = sumChart('Queries', ({ queries }) => queries);
const documentCharts: readonly UsageChart[] = [
  sumChart('Documents added', ({ added }) => added),
  sumChart('Pages parsed', ({ pages }) => pages),
  sumChart('Bytes added', ({ bytes }) => bytes, formatBytes),
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
    title: 'Query time',
    getValue: ({ queryTimes }) => durationPercentile(queryTimes, share) ?? 0,
    format: formatDuration,
    summary: (steps) => durationPercentile(addTimes(steps.map(({ queryTimes }) => queryTimes)), share) ?? 0,
  };
}

/** Charts of the time of queries, by the name of the statistic. */
const queryTimeCharts: readonly (readonly [name: string, chart: UsageChart])[] = [
  [
    'Average',
    { title: 'Query time', getValue: ({ queryMs }) => queryMs, format: formatDuration, summary: meanTime },
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
      title="Usage"
      subtitle={period === 'day' ? 'Hourly' : 'Daily (UTC)'}
      actions={
        <RadioGroup legend="Period" name="span" value={period} options={periodLabels} onChange={setPeriod} />
      }
    >
      <Field label="Collection">
        {(control) => (
          <select
            {...control}
            class="narrow"
            value={collection ?? ''}
            onChange={(event) => setCollection(event.currentTarget.value || null)}
          >
            <option value="">All collections</option>
            {collections.data?.collection_names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {steps.error !== null && steps.data === undefined ? (
        <LoadError error={steps.error} onRetry={steps.reload} />
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
      <Card title="Total">
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
          legend="Statistic"
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
      <BarChart
        title={title}
        step={period === 'day' ? 'Hour' : 'Day'}
        bars={bars}
        format={format}
        isWide={format === formatBytes}
      />
    </Card>
  );
}

/** Comparison with the period before; empty if there is nothing to compare. */
function changeLabel(period: UsagePeriod, { before, after }: { before: number; after: number }): string {
  const change = percentChange(before, after);
  const name = periodLabels.find(([each]) => each === period)?.[1] ?? '';
  if (change === null) return after === 0 ? '' : `None in the ${name} before`;
  const sign = change > 0 ? '+' : change < 0 ? '−' : '±';
  return `${sign}${formatCount(Math.abs(change))}% from the ${name} before`;
}

const hours = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
const days = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

function stepLabel(period: UsagePeriod, start: number): string {
  return (period === 'day' ? hours : days).format(new Date(start * 1_000));
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
    { label: 'Documents added', month: month.docs, total: total.docs },
    { label: 'Documents parsed', month: month.ocr, total: total.ocr },
    { label: 'Documents indexed', month: month.indexed, total: total.indexed },
    { label: 'Queries', month: month.queries, total: total.queries },
    { label: 'Embedding calls', month: modelsMonth.embed, total: modelsTotal.embed },
    { label: 'Reranking calls', month: modelsMonth.rerank, total: modelsTotal.rerank },
  ];
  const columns: TableColumn<CounterRow>[] = [
    { title: 'Metric', cell: ({ label }) => label },
    { title: 'This month', isNumber: true, cell: (row) => formatCount(row.month.count) },
    { title: 'Bytes this month', isNumber: true, cell: (row) => formatBytes(row.month.bytes) },
    { title: 'Total', isNumber: true, cell: (row) => formatCount(row.total.count) },
    { title: 'Total bytes', isNumber: true, cell: (row) => formatBytes(row.total.bytes) },
  ];
  return <Table caption="Total usage" columns={columns} rows={rows} keyOf={({ label }) => label} />;
}
