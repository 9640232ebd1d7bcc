import { useState } from 'preact/hooks';
import type { UsageMetric } from '../../../../src/schemas/usage.ts';
import { now } from '../../browser/clock.ts';
import { Bars } from '../../parts/bars.tsx';
import { Choice, Field } from '../../parts/field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Pending, SkeletonRows } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { NotLoaded } from '../../parts/trouble.tsx';
import { useLoad } from '../../server/load.ts';
import { listCollections } from '../../server/retrieval.ts';
import { organization } from '../../server/session.ts';
import { type Counters, type Span, type Step, sum, usageCounters, usageSteps } from '../../server/usage.ts';
import { bytes, count, duration } from '../../words/numbers.ts';

const spanWords: readonly (readonly [Span, string])[] = [
  ['day', '24 hours'],
  ['month', '30 days'],
  ['quarter', '90 days'],
];

interface Chart {
  readonly title: string;
  readonly of: (step: Step) => number;
  readonly format: (value: number) => string;
  /** What stands beside the title for the whole span. */
  readonly whole: (steps: readonly Step[]) => string;
}

const total = (of: Chart['of'], format: Chart['format']) => (steps: readonly Step[]) =>
  format(sum(steps, of));
const charts: readonly Chart[] = [
  {
    title: 'Queries',
    of: ({ queries }) => queries,
    format: count,
    whole: total(({ queries }) => queries, count),
  },
  { title: 'Time of a query', of: ({ queryMs }) => queryMs, format: duration, whole: meanTime },
  {
    title: 'Documents added',
    of: ({ added }) => added,
    format: count,
    whole: total(({ added }) => added, count),
  },
  {
    title: 'Pages parsed',
    of: ({ pages }) => pages,
    format: count,
    whole: total(({ pages }) => pages, count),
  },
  {
    title: 'Bytes added',
    of: (step) => step.bytes,
    format: bytes,
    whole: total((step) => step.bytes, bytes),
  },
];

function meanTime(steps: readonly Step[]): string {
  const queries = sum(steps, (step) => step.queries);
  return queries === 0 ? '–' : duration(sum(steps, (step) => step.queryMs * step.queries) / queries);
}

/** What the organisation used, over time and in all. */
export function UsagePage() {
  const [span, setSpan] = useState<Span>('month');
  const [collection, setCollection] = useState<string | null>(null);
  const place = organization.value?.organization_id;
  const collections = useLoad(listCollections, [place]);
  const steps = useLoad(
    (abort) => usageSteps({ span, collection, nowMs: now() }, abort),
    [place, span, collection],
  );
  const counters = useLoad(usageCounters, [place]);
  return (
    <Page
      title="Usage"
      lead={span === 'day' ? 'By the hour' : 'By the day, as UTC counts days'}
      actions={<Choice legend="Time" name="span" value={span} words={spanWords} onChange={setSpan} />}
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
        <NotLoaded error={steps.error} onRetry={steps.reload} />
      ) : (
        <div class="charts">
          {charts.map((chart) => (
            <ChartCard key={chart.title} chart={chart} span={span} steps={steps.data} />
          ))}
        </div>
      )}
      <Card title="In all">
        {counters.error !== null && counters.data === undefined ? (
          <NotLoaded error={counters.error} onRetry={counters.reload} />
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
  readonly chart: Chart;
  readonly span: Span;
  readonly steps: readonly Step[] | undefined;
}

function ChartCard({ chart: { title, of, format, whole }, span, steps }: ChartCardProps) {
  const bars = steps?.map((step) => ({ label: stepWords(span, step.start), value: of(step) }));
  return (
    <Card
      title={title}
      actions={
        <strong class="amount">
          <Pending value={steps && whole(steps)} width="5ch" />
        </strong>
      }
    >
      <Bars
        title={title}
        step={span === 'day' ? 'Hour' : 'Day'}
        bars={bars}
        format={format}
        isWide={format === bytes}
      />
    </Card>
  );
}

const hours = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
const days = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

function stepWords(span: Span, start: number): string {
  return (span === 'day' ? hours : days).format(new Date(start * 1_000));
}

interface CounterRow {
  readonly what: string;
  readonly month: UsageMetric;
  readonly ever: UsageMetric;
}

function CountersTable({ counters: { documents, models } }: { readonly counters: Counters }) {
  const { all_time: ever, billing_cycle: month } = documents;
  const { all_time: modelsEver, billing_cycle: modelsMonth } = models;
  const rows: CounterRow[] = [
    { what: 'Documents added', month: month.docs, ever: ever.docs },
    { what: 'Documents parsed', month: month.ocr, ever: ever.ocr },
    { what: 'Documents indexed', month: month.indexed, ever: ever.indexed },
    { what: 'Queries', month: month.queries, ever: ever.queries },
    { what: 'Embedding calls', month: modelsMonth.embed, ever: modelsEver.embed },
    { what: 'Reranking calls', month: modelsMonth.rerank, ever: modelsEver.rerank },
  ];
  const columns: Column<CounterRow>[] = [
    { title: 'What', cell: ({ what }) => what },
    { title: 'This month', isNumber: true, cell: (row) => count(row.month.count) },
    { title: 'Bytes this month', isNumber: true, cell: (row) => bytes(row.month.bytes) },
    { title: 'In all', isNumber: true, cell: (row) => count(row.ever.count) },
    { title: 'Bytes in all', isNumber: true, cell: (row) => bytes(row.ever.bytes) },
  ];
  return <Table caption="Usage in all" columns={columns} rows={rows} keyOf={({ what }) => what} />;
}
