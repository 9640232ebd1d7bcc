import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { LinkButton } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { Page } from '../components/page.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import type { VisibleRange } from '../components/virtual-rows.tsx';
import { documentsUrl, uploadUrl } from '../page-urls.ts';
import { reconnectCount } from '../server/api-call.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { getStatus } from '../server/retrieval.ts';
import { texts } from '../texts/en/documents.ts';
import { counted } from '../texts/format-text.ts';
import { useCollection } from './collection-select.tsx';
import { DocumentFilters } from './document-filters.tsx';
import { DocumentList } from './document-list.ts';
import { type DocumentQuery, readDocumentQuery, toDocumentsUrl } from './document-query.ts';
import { DocumentRows } from './document-rows.tsx';
import { isSettled } from './document-states.ts';
import { findSavedList, saveList, saveScroll } from './list-restoration.ts';

/** Page of all documents of a collection. */
export function Documents() {
  const { route, query } = useLocation();
  const { names, selected } = useCollection();
  if (names.error !== null && names.data === undefined)
    return (
      <Page title={texts.documents}>
        <LoadError error={names.error} onRetry={names.reload} />
      </Page>
    );
  if (selected === null)
    return (
      <Page title={texts.documents}>
        {names.data === undefined ? (
          <SkeletonRows />
        ) : (
          <EmptyState
            title={texts.noDocumentsYet}
            actions={
              <LinkButton href="/app/upload" tone="primary">
                {texts.uploadDocuments}
              </LinkButton>
            }
          >
            {texts.uploadFilesOrFoldersThey}
          </EmptyState>
        )}
      </Page>
    );
  return (
    <Page
      title={texts.documents}
      actions={
        <LinkButton href={uploadUrl(selected)} tone="primary">
          {texts.upload}
        </LinkButton>
      }
    >
      <CollectionDocuments
        key={selected}
        names={names.data ?? []}
        query={readDocumentQuery(selected, query)}
        onQuery={(next) => route(toDocumentsUrl(next), true)}
        onCollection={(name) => route(documentsUrl(name))}
      />
    </Page>
  );
}

interface CollectionDocumentsProps {
  readonly names: readonly string[];
  readonly query: DocumentQuery;
  readonly onQuery: (query: DocumentQuery) => void;
  readonly onCollection: (name: string) => void;
}

function CollectionDocuments({ names, query, onQuery, onCollection }: CollectionDocumentsProps) {
  const { collection } = query;
  const list = useDocumentList(query);
  const visibleRange = useRef<VisibleRange>({ first: 0, end: 0 });
  const [changes, setChanges] = useState(0);
  const status = useLoad((abort) => getStatus(collection, abort), [collection]);
  usePoll(
    async (abort) => {
      const found = await getStatus(collection, abort);
      const changed = JSON.stringify(found) !== JSON.stringify(status.data);
      status.replace(found);
      const isBusy = found.num_parsing_documents + found.num_indexing_documents > 0;
      const rows = list.rows.peek().slice(visibleRange.current.first, visibleRange.current.end);
      // A retried document may have failed again between two polls, with unchanged counts.
      const mayDiffer =
        changed || query.show === 'failed' || rows.some((row) => !isSettled(row.index_status));
      if (mayDiffer) await list.refresh(visibleRange.current);
      return isBusy ? 'busy' : 'idle';
    },
    [list, changes],
  );

  return (
    <div class="stack">
      <DocumentFilters
        names={names}
        query={query}
        status={status.data}
        onChange={(change) => onQuery({ ...query, ...change })}
        onCollection={onCollection}
      />
      <IndexingNotice status={status.data} />
      <DocumentRows
        key={toDocumentsUrl({ ...query, sort: 'path', isDescending: false })}
        list={list}
        total={status.data?.num_documents}
        onSort={(sort, isDescending) => onQuery({ ...query, sort, isDescending })}
        onClearFilters={() => onQuery(readDocumentQuery(collection, {}))}
        onChanged={() => setChanges(changes + 1)}
        onVisibleRangeChange={(now) => {
          visibleRange.current = now;
          saveScroll(list);
        }}
      />
    </div>
  );
}

/** The list for the query. After going back, it is restored as it was left. */
function useDocumentList(query: DocumentQuery): DocumentList {
  const [savedList] = useState(() => findSavedList(query));
  const savedDocumentList = useRef(savedList?.list ?? null);
  const list = useMemo(() => {
    const found = savedDocumentList.current ?? new DocumentList(query);
    savedDocumentList.current = null;
    return found;
  }, [JSON.stringify(query)]);
  useLayoutEffect(() => {
    if (savedList !== null) window.scrollTo(0, savedList.scrollY);
  }, []);
  useEffect(() => {
    saveList(list);
    list.open();
    return () => list.close();
  }, [list]);
  useEffect(() => {
    if (list.error.peek() !== null) void list.loadMore();
  }, [list, reconnectCount.value]);
  return list;
}

function IndexingNotice({ status }: { readonly status: StatusResponse | undefined }) {
  const inProgress = status === undefined ? 0 : status.num_parsing_documents + status.num_indexing_documents;
  return (
    <p class="in-progress muted" role="status">
      {inProgress > 0 && counted(texts.countDocumentsInProgress, inProgress)}
      {status?.waiting_for?.map((reason) => ` · ${reason}`)}
    </p>
  );
}
