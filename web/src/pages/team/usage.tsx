import { useState } from 'preact/hooks';
import type { UsageMetric } from '../../../../src/schemas/usage.ts';
import { now } from '../../browser/clock.ts';
import { BarChart } from '../../components/bar-chart.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Field, RadioGroup } from '../../components/field.tsx';
import { Card, Page } from '../../components/page.tsx';
import { LoadingText, SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { useLoad } from '../../server/load.ts';
import { listCollections } from '../../server/retrieval.ts';
import { organization } from '../../server/session.ts';
import {
  type OrganizationUsageCounters,
  sum,
  type UsagePeriod,
  type UsageStep,
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
  readonly summary: (steps: readonly UsageStep[]) => string;
}

const total =
  (getValue: UsageChart['getValue'], format: UsageChart['format']) => (steps: readonly UsageStep[]) =>
    format(sum(steps, getValue));
const charts: readonly UsageChart[] = [
  {
    title: 'Queries',
    getValue: ({ queries }) => queries,
    format: formatCount,
    summary: total(({ queries }) => queries, formatCount),
  },
  { title: 'Query time', getValue: ({ queryMs }) => queryMs, format: formatDuration, summary: meanTime },
  {
    title: 'Documents added',
    getValue: ({ added }) => added,
    format: formatCount,
    summary: total(({ added }) => added, formatCount),
  },
  {
    title: 'Pages parsed',
    getValue: ({ pages }) => pages,
    format: formatCount,
    summary: total(({ pages }) => pages, formatCount),
  },
  {
    title: 'Bytes added',
    getValue: (step) => step.bytes,
    format: formatBytes,
    summary: total((step) => step.bytes, formatBytes),
  },
];

function meanTime(steps: readonly UsageStep[]): string {
  const queries = sum(steps, (step) => step.queries);
  return queries === 0 ? '–' : formatDuration(sum(steps, (step) => step.queryMs * step.queries) / queries);
}

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
          {charts.map((chart) => (
            <ChartCard key={chart.title} chart={chart} period={period} steps={steps.data} />
          ))}
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
  readonly steps: readonly UsageStep[] | undefined;
}

function ChartCard({ chart: { title, getValue, format, summary }, period, steps }: ChartCardProps) {
  const bars = steps?.map((step) => ({ label: stepLabel(period, step.start), value: getValue(step) }));
  return (
    <Card
      title={title}
      actions={
        <strong class="amount">
          <LoadingText value={steps && summary(steps)} width="5ch" />
        </strong>
      }
    >
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
