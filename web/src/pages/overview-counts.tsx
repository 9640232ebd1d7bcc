import type { StatusResponse } from '../../../src/schemas/status.ts';
import { LoadingText, Skeleton } from '../components/skeleton.tsx';
import { formatBytes, formatCount, formatPercent } from '../format/numbers.ts';
import { documentUrl, failedDocumentsUrl, shownDocumentsUrl } from '../page-urls.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/overview.ts';
import { counted } from '../texts/format-text.ts';
import type { FoundDocument } from './overview-documents.ts';

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

interface DocumentCountsProps {
  /** Undefined while loading. */
  readonly status: StatusResponse | undefined;
  /** One of the failed documents. */
  readonly failed: FoundDocument | null | undefined;
}

/** Number of documents by state, and in one line whether all of them can be found. */
export function DocumentCounts({ status, failed }: DocumentCountsProps) {
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
            <dd class={show === 'failed' && (status?.[field] ?? 0) > 0 ? 'wrong' : undefined}>
              <CountLink
                href={
                  show === 'failed' && failed
                    ? failedDocumentsUrl(failed.collection)
                    : shownDocumentsUrl(show)
                }
                name={name}
                value={status?.[field]}
              />
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
      <StateLine status={status} failed={failed} />
    </section>
  );
}

/** The most important state of the documents. The line has the same height in every state. */
function StateLine({ status, failed }: DocumentCountsProps) {
  if (status === undefined) {
    return (
      <p class="state-line">
        <Skeleton width="16rem" />
      </p>
    );
  }
  const inProgress = status.num_parsing_documents + status.num_indexing_documents;
  if (status.num_failed_documents > 0)
    return <FailedLine count={status.num_failed_documents} failed={failed} />;
  return (
    <p class="state-line">
      <span class="cut">
        {inProgress > 0
          ? counted(texts.countDocumentsAreBeingIndexed, inProgress)
          : texts.allDocumentsCanBeFound}
      </span>
    </p>
  );
}

interface FailedLineProps {
  readonly count: number;
  readonly failed: FoundDocument | null | undefined;
}

function FailedLine({ count, failed }: FailedLineProps) {
  return (
    <p class="state-line bad">
      <Icon name="warning" />
      <span class="cut">
        {counted(texts.countDocumentsCouldNotBe, count)}
        {failed && (
          <>
            {': '}
            <a href={documentUrl(failed.collection, failed.path)}>{failed.path}</a>
          </>
        )}
      </span>
      <a href={failed ? failedDocumentsUrl(failed.collection) : shownDocumentsUrl('failed')}>
        {texts.viewFailed}
      </a>
    </p>
  );
}
