import type { StatusResponse } from '../../../src/schemas/status.ts';
import { documentAt } from '../addresses.ts';
import { now } from '../browser/clock.ts';
import { Bars } from '../parts/bars.tsx';
import { LinkButton } from '../parts/button.tsx';
import { Meter } from '../parts/meter.tsx';
import { Card, Page } from '../parts/page.tsx';
import { Pending, Skeleton } from '../parts/skeleton.tsx';
import { NotLoaded, Trouble } from '../parts/trouble.tsx';
import { organizationInfo } from '../server/account.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { documentUsage, getStatus, queryUsage } from '../server/retrieval.ts';
import { billingIsOn } from '../server/session.ts';
import { bytes, count, duration, percent } from '../words/numbers.ts';
import { FirstSteps } from './first-steps.tsx';
import { barsOf, type Span, seconds } from './overview-bars.ts';
import { stageWords } from './stages.ts';
import { tierName } from './team/tiers.ts';

/** How things stand: documents, work, questions, room. */
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
      title="Overview"
      lead={isEmpty ? 'Here is how to begin.' : undefined}
      actions={
        isEmpty ? undefined : (
          <>
            <LinkButton href="/app/upload">Upload</LinkButton>
            <LinkButton href="/app/playground" tone="primary">
              Ask a question
            </LinkButton>
          </>
        )
      }
    >
      {status.error !== null && status.data === undefined ? (
        <NotLoaded error={status.error} onRetry={status.reload} />
      ) : isEmpty ? (
        <FirstSteps />
      ) : (
        <div class="stack">
          <Counts status={status.data} />
          <div class="cards">
            <Indexing />
            <Queries />
            <Limits />
          </div>
          {status.data !== undefined && <Waiting status={status.data} />}
        </div>
      )}
    </Page>
  );
}

function isBusy(status: StatusResponse): boolean {
  return status.num_parsing_documents + status.num_indexing_documents > 0;
}

const states = [
  ['num_indexed_documents', 'Indexed', 'good'],
  ['num_indexing_documents', 'Indexing', 'info'],
  ['num_parsing_documents', 'Reading', 'info two'],
  ['num_failed_documents', 'Failed', 'bad'],
] as const;

function Counts({ status }: { readonly status: StatusResponse | undefined }) {
  const all = status?.num_documents ?? 0;
  return (
    <section class="card counts" aria-label="Documents by status">
      <dl>
        <div class="count-all">
          <dt>Documents</dt>
          <dd>
            <Pending value={status && count(all)} />
          </dd>
        </div>
        {states.map(([field, name, tone]) => (
          <div key={field}>
            <dt>
              <i class={`dot ${tone}`} />
              {name}
            </dt>
            <dd>
              <Pending value={status && count(status[field])} />
            </dd>
          </div>
        ))}
        <div>
          <dt>Indexed text</dt>
          <dd>
            <Pending value={status && bytes(status.num_indexed_bytes)} width="6ch" />
          </dd>
        </div>
      </dl>
      <div class="shares" aria-hidden="true">
        {status !== undefined &&
          states
            .filter(([field]) => status[field] > 0)
            .map(([field, name, tone]) => (
              <span
                key={field}
                class={tone}
                title={`${name}: ${percent(status[field], all)}`}
                style={{ flexGrow: String(status[field]) }}
              />
            ))}
      </div>
    </section>
  );
}

/** What is being read just now, and what keeps the rest waiting. It comes and goes, so nothing is below it. */
function Waiting({ status }: { readonly status: StatusResponse }) {
  const reading = status.parsing_documents ?? [];
  const held = status.waiting_for ?? [];
  if (reading.length + held.length === 0) return null;
  return (
    <Card title="Under way">
      {held.map((reason) => (
        <p key={reason} class="note">
          {reason}
        </p>
      ))}
      <ul class="reading">
        {reading.map(
          ({ collection_name: collection, path, stage, num_pages_done: done, num_pages: pages }) => (
            <li key={`${collection}\n${path}`}>
              <a href={documentAt(collection, path)}>{path}</a>
              <span class="soft number">{stageWords({ stage, done, pages })}</span>
            </li>
          ),
        )}
      </ul>
    </Card>
  );
}

const minute: Span = { steps: 60, stepSeconds: 60 };
const hour: Span = { steps: 24, stepSeconds: 3_600 };

function asked({ steps, stepSeconds }: Span) {
  const end = seconds(now());
  return {
    start_time: end - (end % stepSeconds) - (steps - 1) * stepSeconds,
    end_time: end,
    aggregation_window: stepSeconds === 60 ? ('minutely' as const) : ('hourly' as const),
  };
}

function Indexing() {
  const usage = useLoad((abort) => documentUsage(asked(minute), abort), []);
  usePoll(async (abort) => {
    usage.replace(await documentUsage(asked(minute), abort));
    return 'idle';
  }, []);
  const rows = usage.data?.filter((row) => row.event_type === 'indexed');
  const bars = rows && barsOf(rows, minute, (row) => row.event_count);
  const all = bars?.reduce((sum, { value }) => sum + value, 0);
  return (
    <Card title="Indexed in the last hour">
      <Trouble error={usage.error} />
      <p class="figure">
        {all === undefined ? (
          <Skeleton />
        ) : (
          <>
            {count(all)} <span class="soft">{all === 1 ? 'document' : 'documents'}</span>
          </>
        )}
      </p>
      <Bars title="Documents indexed" step="Minute" bars={bars} />
    </Card>
  );
}

function Queries() {
  const usage = useLoad((abort) => queryUsage(asked(hour), abort), []);
  usePoll(async (abort) => {
    usage.replace(await queryUsage(asked(hour), abort));
    return 'idle';
  }, []);
  const rows = usage.data;
  const bars = rows && barsOf(rows, hour, (row) => row.event_count);
  const all = bars?.reduce((sum, { value }) => sum + value, 0);
  const spent = rows?.reduce((sum, row) => sum + row.total_time_taken_ms, 0);
  return (
    <Card title="Questions in the last 24 hours">
      <Trouble error={usage.error} />
      <p class="figure">
        {all === undefined || spent === undefined ? (
          <Skeleton />
        ) : (
          <>
            {count(all)}{' '}
            <span class="soft">{all === 1 ? 'question, answered in' : 'questions, on average'}</span>{' '}
            {all === 0 ? '–' : duration(spent / all)}
          </>
        )}
      </p>
      <Bars title="Questions" step="Hour" bars={bars} />
    </Card>
  );
}

function Limits() {
  const info = useLoad(organizationInfo, []);
  const found = info.data?.organization;
  return (
    <Card title="Room and limits">
      <Trouble error={info.error} />
      {found === undefined ? (
        <Skeleton lines={6} />
      ) : (
        <div class="stack">
          <Meter
            label="Documents"
            value={found.storage.documents}
            most={found.rate_limits.max_documents}
            format={count}
          />
          <Meter
            label="Storage"
            value={found.storage.bytes}
            most={found.rate_limits.max_storage_bytes}
            format={bytes}
          />
          <Meter
            label="Waiting to be indexed"
            value={found.storage.ingest_documents}
            most={found.rate_limits.max_ingest_documents}
            format={count}
          />
          <p class="hint">
            {found.rate_limits.queries_per_minute === null
              ? 'Questions are not limited.'
              : `${count(found.rate_limits.queries_per_minute)} questions a minute.`}
            {billingIsOn.value && ` Plan: ${tierName(found.subscription_tier)}.`}
          </p>
        </div>
      )}
    </Card>
  );
}
