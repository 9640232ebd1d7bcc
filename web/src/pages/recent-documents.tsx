import { Chip } from '../components/chip.tsx';
import { Card } from '../components/page.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { collectionUrl, documentUrl } from '../page-urls.ts';
import { texts } from '../texts/en/overview.ts';
import { stateLabels } from './document-states.ts';
import { type RecentDocument, recentMax, sortedDocumentsMax } from './overview-documents.ts';

interface RecentDocumentsProps {
  /** Number of documents of the organization; undefined while loading. */
  readonly all: number | undefined;
  readonly recent: readonly RecentDocument[] | undefined;
}

/** The documents that were added last, of all collections. */
export function RecentDocuments({ all, recent }: RecentDocumentsProps) {
  if (all === undefined || all > sortedDocumentsMax || recent?.length === 0) return null;
  return (
    <Card title={texts.recentDocuments}>
      <ul class="recent-documents">
        {recent === undefined
          ? Array.from({ length: Math.min(all, recentMax) }, (_, i) => (
              <li key={i}>
                <Skeleton width="60%" />
              </li>
            ))
          : recent.map((document) => (
              <RecentRow key={`${document.collection}\n${document.path}`} {...document} />
            ))}
      </ul>
    </Card>
  );
}

/** `hasCollection`: false on a page of one collection. */
export function RecentRow({
  collection,
  path,
  row,
  hasCollection = true,
}: RecentDocument & { readonly hasCollection?: boolean }) {
  const [label, tone] = stateLabels[row.index_status];
  return (
    <li>
      <span class="cut">
        <a href={documentUrl(collection, path)}>{path}</a>
      </span>
      {hasCollection ? (
        <a class="cut recent-collection" href={collectionUrl(collection)}>
          {collection}
        </a>
      ) : (
        <span class="recent-collection" />
      )}
      <span>
        <Chip tone={tone}>{label}</Chip>
      </span>
      <span class="muted recent-time">
        <RelativeTime at={row.created_at} />
      </span>
    </li>
  );
}
