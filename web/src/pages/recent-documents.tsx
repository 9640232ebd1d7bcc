import { Chip } from '../components/chip.tsx';
import { Card } from '../components/page.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { documentsUrl, documentUrl } from '../page-urls.ts';
import { texts } from '../texts/en/overview.ts';
import { stateLabels } from './document-states.ts';
import { type RecentDocument, recentMax, sortedDocumentsMax } from './overview-documents.ts';

interface RecentDocumentsProps {
  /** Number of documents of the organization; undefined while loading. */
  readonly all: number | undefined;
  readonly recent: readonly RecentDocument[] | undefined;
}

/** The documents that were added last. */
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
              <Recent key={`${document.collection}\n${document.path}`} {...document} />
            ))}
      </ul>
    </Card>
  );
}

function Recent({ collection, path, row }: RecentDocument) {
  const [label, tone] = stateLabels[row.index_status];
  return (
    <li>
      <span class="cut">
        <a href={documentUrl(collection, path)}>{path}</a>
      </span>
      <a class="cut recent-collection" href={documentsUrl(collection)}>
        {collection}
      </a>
      <span>
        <Chip tone={tone}>{label}</Chip>
      </span>
      <span class="muted recent-time">
        <RelativeTime at={row.created_at} />
      </span>
    </li>
  );
}
