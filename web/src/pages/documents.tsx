import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { LinkButton } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { Field, RadioGroup } from '../components/field.tsx';
import { Page } from '../components/page.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import type { VisibleRange } from '../components/virtual-rows.tsx';
import { formatCount, formatCounted } from '../format/numbers.ts';
import { documentsUrl, failedDocumentsUrl, uploadUrl } from '../page-urls.ts';
import { reconnectCount } from '../server/api-call.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { getStatus } from '../server/retrieval.ts';
import { CollectionField, useCollection } from './collection-select.tsx';
import { DocumentList, type DocumentListQuery } from './document-list.ts';
import { type DocumentFilter, DocumentRows } from './document-rows.tsx';
import { isSettled } from './document-states.ts';
import { findSavedList, saveList, saveScroll } from './list-restoration.ts';

const debounceMs = 250;

/** Page of all documents of a collection. */
export function Documents() {
  const { route, query } = useLocation();
  const { names, selected } = useCollection();
  if (names.error !== null && names.data === undefined)
    return (
      <Page title="Documents">
        <LoadError error={names.error} onRetry={names.reload} />
      </Page>
    );
  if (selected === null)
    return (
      <Page title="Documents">
        {names.data === undefined ? (
          <SkeletonRows />
        ) : (
          <EmptyState
            title="No documents yet"
            actions={
              <LinkButton href="/app/upload" tone="primary">
                Upload documents
              </LinkButton>
            }
          >
            Upload files or folders. They become searchable within seconds.
          </EmptyState>
        )}
      </Page>
    );
  return (
    <Page
      title="Documents"
      actions={
        <LinkButton href={uploadUrl(selected)} tone="primary">
          Upload
        </LinkButton>
      }
    >
      <CollectionDocuments
        key={selected}
        collection={selected}
        names={names.data ?? []}
        filter={query.show === 'failed' ? 'failed' : 'all'}
        onChoose={(name) => route(documentsUrl(name))}
        onFilter={(filter) =>
          route(filter === 'failed' ? failedDocumentsUrl(selected) : documentsUrl(selected), true)
        }
      />
    </Page>
  );
}

interface CollectionDocumentsProps {
  readonly collection: string;
  readonly names: readonly string[];
  readonly filter: DocumentFilter;
  readonly onChoose: (name: string) => void;
  readonly onFilter: (filter: DocumentFilter) => void;
}

function CollectionDocuments({ collection, names, filter, onChoose, onFilter }: CollectionDocumentsProps) {
  const onlyFailed = filter === 'failed';
  const { list, prefix, prefixText, setPrefixText } = useDocumentList({ collection, onlyFailed });
  const visibleRange = useRef<VisibleRange>({ first: 0, end: 0 });
  const [retries, setRetries] = useState(0);
  const status = useLoad((abort) => getStatus(collection, abort), [collection]);
  usePoll(
    async (abort) => {
      const found = await getStatus(collection, abort);
      const changed = JSON.stringify(found) !== JSON.stringify(status.data);
      status.replace(found);
      const isBusy = found.num_parsing_documents + found.num_indexing_documents > 0;
      const rows = list.rows.peek().slice(visibleRange.current.first, visibleRange.current.end);
      // A retried document may have failed again between two polls, with unchanged counts.
      const mayDiffer = changed || onlyFailed || rows.some((row) => !isSettled(row.index_status));
      if (mayDiffer) await list.refresh(visibleRange.current);
      return isBusy ? 'busy' : 'idle';
    },
    [list, retries],
  );

  return (
    <div class="stack">
      <div class="filters">
        <CollectionField names={names} selected={collection} onChoose={onChoose} />
        <PrefixField prefixText={prefixText} onType={setPrefixText} />
        <FilterSelect filter={filter} status={status.data} onChoose={onFilter} />
      </div>
      <IndexingNotice status={status.data} />
      <DocumentRows
        key={`${filter}\n${prefix}`}
        list={list}
        filter={filter}
        prefix={prefix}
        collection={collection}
        onRetried={() => setRetries(retries + 1)}
        onVisibleRangeChange={(now) => {
          visibleRange.current = now;
          saveScroll(list);
        }}
      />
    </div>
  );
}

/** The list for the typed prefix. After going back, it is restored as it was left. */
function useDocumentList({ collection, onlyFailed }: Omit<DocumentListQuery, 'prefix'>) {
  const [savedList] = useState(() => findSavedList({ collection, onlyFailed }));
  const [prefixText, setPrefixText] = useState(savedList?.options.prefix ?? '');
  const prefix = useDebounced(prefixText);
  const savedDocumentList = useRef(savedList?.list ?? null);
  const list = useMemo(() => {
    const found = savedDocumentList.current ?? new DocumentList({ collection, prefix, onlyFailed });
    savedDocumentList.current = null;
    return found;
  }, [collection, prefix, onlyFailed]);
  useLayoutEffect(() => {
    if (savedList !== null) window.scrollTo(0, savedList.scrollY);
  }, []);
  useEffect(() => {
    saveList(list, { collection, prefix, onlyFailed });
    list.open();
    return () => list.close();
  }, [list]);
  useEffect(() => {
    if (list.error.peek() !== null) void list.loadMore();
  }, [list, reconnectCount.value]);
  return { list, prefix, prefixText, setPrefixText };
}

function PrefixField({
  prefixText,
  onType,
}: {
  readonly prefixText: string;
  readonly onType: (prefixText: string) => void;
}) {
  return (
    <Field label="Path prefix">
      {(control) => (
        <input
          {...control}
          type="search"
          autoComplete="off"
          spellcheck={false}
          placeholder="reports/2026/"
          value={prefixText}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface FilterSelectProps {
  readonly filter: DocumentFilter;
  readonly status: StatusResponse | undefined;
  readonly onChoose: (filter: DocumentFilter) => void;
}

function FilterSelect({ filter, status, onChoose }: FilterSelectProps) {
  const optionLabel = (name: string, number: number | undefined) => (
    <>
      {name} <span class="tally">{number === undefined ? '' : formatCount(number)}</span>
    </>
  );
  return (
    <RadioGroup
      legend="Documents to show"
      name="filter"
      value={filter}
      options={[
        ['all', optionLabel('All', status?.num_documents)],
        ['failed', optionLabel('Failed', status?.num_failed_documents)],
      ]}
      onChange={onChoose}
    />
  );
}

function IndexingNotice({ status }: { readonly status: StatusResponse | undefined }) {
  const inProgress = status === undefined ? 0 : status.num_parsing_documents + status.num_indexing_documents;
  return (
    <p class="in-progress muted" role="status">
      {inProgress > 0 && `${formatCounted(inProgress, 'document')} in progress`}
      {status?.waiting_for?.map((reason) => ` · ${reason}`)}
    </p>
  );
}

/** Returns the text after typing has paused. */
function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), debounceMs);
    return () => clearTimeout(timer);
  }, [text]);
  return debounced;
}
