import { useEffect } from 'preact/hooks';
import { durationPercentile } from '../../../src/core/duration-histogram.ts';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { now } from '../browser/clock.ts';
import { BarChart } from '../components/bar-chart.tsx';
import { LinkButton } from '../components/button.tsx';
import { LoadError } from '../components/error-message.tsx';
import { Meter } from '../components/meter.tsx';
import { Card, Page } from '../components/page.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { formatBytes, formatCount, formatDuration } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
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
import { DocumentCounts } from './overview-counts.tsx';
import { findFailedDocument, findRecentDocuments } from './overview-documents.ts';
import { RecentDocuments } from './recent-documents.tsx';
import { tierName } from './team/tiers.ts';

/** Below this number of documents, the next step is to upload more. */
const fewDocuments = 20;

/** Overview page: documents, indexing, queries and storage. */
export function Overview() {
  const status = useLoad((abort) => getStatus(null, abort), []);
  usePoll(async (abort) => {
    const found = await getStatus(null, abort);
    status.replace(found);
    return isBusy(found) ? 'busy' : 'idle';
  }, []);
  const all = status.data?.num_documents;
  const isEmpty = all === 0;
  const isSmall = all !== undefined && all < fewDocuments;
  const failedCount = status.data?.num_failed_documents ?? 0;
  const failed = useLoad((abort) => findFailedDocument(failedCount, abort), [failedCount > 0]);
  const recent = useLoad((abort) => findRecentDocuments(all ?? 0, abort), [all === undefined]);
  const hasWork = status.data !== undefined && isBusy(status.data);
  useEffect(() => {
    // New documents have their final state. The first load does not depend on the work.
    if (all === undefined || hasWork) return;
    failed.reload();
    recent.reload();
  }, [hasWork]);
  return (
    <Page
      title={texts.overview}
      subtitle={isEmpty ? texts.followTheseStepsToGet : undefined}
      actions={
        isEmpty ? undefined : (
          <>
            <LinkButton href="/app/upload" tone={isSmall ? 'primary' : 'plain'}>
              {texts.upload}
            </LinkButton>
            <LinkButton href="/app/search" tone={isSmall ? 'plain' : 'primary'}>
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
          <DocumentCounts status={status.data} failed={failed.data} />
          <div class="cards">
            <Indexing />
            <Queries />
            <Limits />
          </div>
          <RecentDocuments all={status.data?.num_documents} recent={recent.data} />
          {status.data !== undefined && <InProgressCard status={status.data} />}
        </div>
      )}
    </Page>
  );
}

function isBusy(status: StatusResponse): boolean {
  return status.num_parsing_documents + status.num_indexing_documents > 0;
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
      {usage.error !== null && usage.data === undefined ? (
        <LoadError error={usage.error} onRetry={usage.reload} />
      ) : (
        <>
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
        </>
      )}
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
      {usage.error !== null && rows === undefined ? (
        <LoadError error={usage.error} onRetry={usage.reload} />
      ) : (
        <>
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
        </>
      )}
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
  const hasLimit =
    found !== undefined &&
    [
      found.rate_limits.max_documents,
      found.rate_limits.max_storage_bytes,
      found.rate_limits.max_ingest_documents,
    ].some((limit) => limit !== null);
  return (
    <Card title={hasLimit ? texts.storageAndLimits : texts.storage}>
      {info.error !== null && found === undefined ? (
        <LoadError error={info.error} onRetry={info.reload} />
      ) : found === undefined ? (
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
              ? hasLimit
                ? ''
                : texts.noLimitsApplyToThis
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
