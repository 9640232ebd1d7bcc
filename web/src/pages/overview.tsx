import { durationPercentile } from '../../../src/core/duration-histogram.ts';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { now } from '../browser/clock.ts';
import { BarChart } from '../components/bar-chart.tsx';
import { LinkButton } from '../components/button.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { Meter } from '../components/meter.tsx';
import { Card, Page } from '../components/page.tsx';
import { LoadingText, Skeleton } from '../components/skeleton.tsx';
import { formatBytes, formatCount, formatDuration, formatPercent } from '../format/numbers.ts';
import { documentUrl, shownDocumentsUrl } from '../page-urls.ts';
import { getOrganizationInfo } from '../server/account.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { documentUsage, getStatus, queryUsage } from '../server/retrieval.ts';
import { isBillingEnabled } from '../server/session.ts';
import { queryTimesOf } from '../server/usage.ts';
import { texts } from '../texts/en/overview.ts';
import { counted, fill } from '../texts/format-text.ts';
import { stageLabel } from './document-states.ts';
import { FirstSteps } from './first-steps.tsx';
import { type ChartSpan, toBars, toSeconds } from './overview-bars.ts';
import { tierName } from './team/tiers.ts';

/** Overview page: documents, indexing, queries and storage. */
export function Overview() {
  const status = useLoad((abort) => getStatus(null, abort), []);
  usePoll(async (abort) => {
    const found = await getStatus(null, abort);
    status.replace(found);
    return isBusy(found) ? 'busy' : 'idle';
  }, []);
  const isEmpty = status.data !== undefined && status.data.num_documents === 0;
  return (
    <Page
      title={texts.overview}
      subtitle={isEmpty ? texts.followTheseStepsToGet : undefined}
      actions={
        isEmpty ? undefined : (
          <>
            <LinkButton href="/app/upload">{texts.upload}</LinkButton>
            <LinkButton href="/app/search" tone="primary">
              {texts.search}
            </LinkButton>
          </>
        )
      }
    >
      {status.error !== null && status.data === undefined ? (
        <LoadError error={status.error} onRetry={status.reload} />
      ) : isEmpty ? (
        <FirstSteps />
      ) : (
        <div class="stack">
          <DocumentCounts status={status.data} />
          <div class="cards">
            <Indexing />
            <Queries />
            <Limits />
          </div>
          {status.data !== undefined && <InProgressCard status={status.data} />}
        </div>
      )}
    </Page>
  );
}

function isBusy(status: StatusResponse): boolean {
  return status.num_parsing_documents + status.num_indexing_documents > 0;
}

const statusFields = [
  ['num_indexed_documents', texts.indexed, 'good', 'indexed'],
  ['num_indexing_documents', texts.indexing, 'info', 'pending'],
  ['num_parsing_documents', texts.parsing, 'info two', 'pending'],
  ['num_failed_documents', texts.failed, 'bad', 'failed'],
] as const;

/** A number that opens the list behind it. While it loads, there is no link: it would have no accessible text. */
function CountLink({
  href,
  name,
  value,
}: {
  readonly href: string;
  readonly name: string;
  readonly value: number | undefined;
}) {
  if (value === undefined) return <LoadingText value={undefined} />;
  return (
    <a href={href} aria-label={`${name}: ${formatCount(value)}`}>
      {formatCount(value)}
    </a>
  );
}

function DocumentCounts({ status }: { readonly status: StatusResponse | undefined }) {
  const all = status?.num_documents ?? 0;
  return (
    <section class="card counts" aria-label={texts.documentsByStatus}>
      <dl>
        <div class="count-all">
          <dt>{texts.documents}</dt>
          <dd>
            <CountLink href="/app/collections" name={texts.documents} value={status && all} />
          </dd>
        </div>
        {statusFields.map(([field, name, tone, show]) => (
          <div key={field}>
            <dt>
              <i class={`dot ${tone}`} />
              {name}
            </dt>
            <dd>
              <CountLink href={shownDocumentsUrl(show)} name={name} value={status?.[field]} />
            </dd>
          </div>
        ))}
        <div>
          <dt>{texts.indexedText}</dt>
          <dd>
            <LoadingText value={status && formatBytes(status.num_indexed_bytes)} width="6ch" />
          </dd>
        </div>
      </dl>
      <div class="shares" aria-hidden="true">
        {status !== undefined &&
          statusFields
            .filter(([field]) => status[field] > 0)
            .map(([field, name, tone]) => (
              <span
                key={field}
                class={tone}
                title={`${name}: ${formatPercent(status[field], all)}`}
                style={{ flexGrow: String(status[field]) }}
              />
            ))}
      </div>
    </section>
  );
}

/**
 * Documents being parsed, and why others wait. The card appears and disappears, so it is last on the page.
 */
function InProgressCard({ status }: { readonly status: StatusResponse }) {
  const reading = status.parsing_documents ?? [];
  const waitReasons = status.waiting_for ?? [];
  if (reading.length + waitReasons.length === 0) return null;
  return (
    <Card title={texts.inProgress}>
      {waitReasons.map((reason) => (
        <p key={reason} class="note">
          {reason}
        </p>
      ))}
      <ul class="parsing-list">
        {reading.map(
          ({ collection_name: collection, path, stage, num_pages_done: done, num_pages: pages }) => (
            <li key={`${collection}\n${path}`}>
              <a href={documentUrl(collection, path)}>{path}</a>
              <span class="muted number">{stageLabel({ stage, done, pages })}</span>
            </li>
          ),
        )}
      </ul>
    </Card>
  );
}

const minute: ChartSpan = { steps: 60, stepSeconds: 60 };
const hour: ChartSpan = { steps: 24, stepSeconds: 3_600 };

function toUsageRequest({ steps, stepSeconds }: ChartSpan) {
  const end = toSeconds(now());
  return {
    start_time: end - (end % stepSeconds) - (steps - 1) * stepSeconds,
    end_time: end,
    aggregation_window: stepSeconds === 60 ? ('minutely' as const) : ('hourly' as const),
  };
}

function Indexing() {
  const usage = useLoad((abort) => documentUsage(toUsageRequest(minute), abort), []);
  usePoll(async (abort) => {
    usage.replace(await documentUsage(toUsageRequest(minute), abort));
    return 'idle';
  }, []);
  const rows = usage.data?.filter((row) => row.event_type === 'indexed');
  const bars = rows && toBars(rows, minute, (row) => row.event_count);
  const all = bars?.reduce((sum, { value }) => sum + value, 0);
  return (
    <Card title={texts.indexedInTheLastHour}>
      {usage.error !== null && usage.data === undefined && (
        <LoadError error={usage.error} onRetry={usage.reload} />
      )}
      <p class="figure">
        {all === undefined ? (
          <Skeleton />
        ) : (
          <>
            {formatCount(all)} <span class="muted">{counted(texts.documents2, all)}</span>
          </>
        )}
      </p>
      <BarChart title={texts.documentsIndexed} step={texts.minute} bars={bars} />
    </Card>
  );
}

function Queries() {
  const load = (abort: AbortSignal) => queryUsage({ ...toUsageRequest(hour), include_times: true }, abort);
  const usage = useLoad(load, []);
  usePoll(async (abort) => {
    usage.replace(await load(abort));
    return 'idle';
  }, []);
  const rows = usage.data;
  const bars = rows && toBars(rows, hour, (row) => row.event_count);
  const all = bars?.reduce((sum, { value }) => sum + value, 0);
  const totalMs = rows?.reduce((sum, row) => sum + row.total_time_taken_ms, 0);
  const p95 = rows === undefined ? null : durationPercentile(queryTimesOf(rows), 0.95);
  return (
    <Card title={texts.queriesInTheLast24}>
      {usage.error !== null && usage.data === undefined && (
        <LoadError error={usage.error} onRetry={usage.reload} />
      )}
      <p class="figure">
        {all === undefined || totalMs === undefined ? (
          <Skeleton />
        ) : (
          <>
            <a href="/app/usage">{formatCount(all)}</a>{' '}
            <span class="muted">{counted(texts.queries, all)}</span> {timeLabel(totalMs / all, p95)}
          </>
        )}
      </p>
      <BarChart title={texts.queries2} step={texts.hour} bars={bars} />
    </Card>
  );
}

/** One figure, which fits a line of the card: the percentile, or the average of queries of earlier versions. */
function timeLabel(averageMs: number, p95: number | null) {
  if (Number.isNaN(averageMs)) return '–';
  return (
    <>
      <span class="muted">{p95 === null ? texts.average : 'p95'}</span> {formatDuration(p95 ?? averageMs)}
    </>
  );
}

function Limits() {
  const info = useLoad(getOrganizationInfo, []);
  const found = info.data?.organization;
  return (
    <Card title={texts.storageAndLimits}>
      <ErrorMessage error={info.error} />
      {found === undefined ? (
        <Skeleton lines={6} />
      ) : (
        <div class="stack">
          <Meter
            label={texts.documents}
            value={found.storage.documents}
            max={found.rate_limits.max_documents}
            format={formatCount}
          />
          <Meter
            label={texts.storage}
            value={found.storage.bytes}
            max={found.rate_limits.max_storage_bytes}
            format={formatBytes}
          />
          <Meter
            label={texts.waitingToBeIndexed}
            value={found.storage.ingest_documents}
            max={found.rate_limits.max_ingest_documents}
            format={formatCount}
          />
          <p class="hint">
            {found.rate_limits.queries_per_minute === null
              ? texts.noQueryLimit
              : fill(texts.queriesPerMinuteQueriesPerMinute, {
                  queriesPerMinute: formatCount(found.rate_limits.queries_per_minute),
                })}
            {isBillingEnabled.value &&
              fill(texts.planSubscriptionTier, { subscriptionTier: tierName(found.subscription_tier) })}
          </p>
        </div>
      )}
    </Card>
  );
}
