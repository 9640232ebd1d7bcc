import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { documentsOf, failedOf, uploadTo } from '../addresses.ts';
import { Blank } from '../parts/blank.tsx';
import { LinkButton } from '../parts/button.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Page } from '../parts/page.tsx';
import { SkeletonRows } from '../parts/skeleton.tsx';
import { NotLoaded } from '../parts/trouble.tsx';
import type { Seen } from '../parts/virtual-rows.tsx';
import { returns } from '../server/call.ts';
import { useLoad, usePoll } from '../server/load.ts';
import { getStatus } from '../server/retrieval.ts';
import { count, counted } from '../words/numbers.ts';
import { CollectionField, useCollection } from './collection-choice.tsx';
import { DocumentList, type ListOptions } from './document-list.ts';
import { DocumentRows, type Filter } from './document-rows.tsx';
import { keepHere, leftHere, noteScroll } from './left-list.ts';
import { isSettled } from './stages.ts';

const typingMs = 250;

/** The documents of a collection, as many as there are. */
export function Documents() {
  const { route, query } = useLocation();
  const { names, chosen } = useCollection();
  if (names.error !== null && names.data === undefined)
    return (
      <Page title="Documents">
        <NotLoaded error={names.error} onRetry={names.reload} />
      </Page>
    );
  if (chosen === null)
    return (
      <Page title="Documents">
        {names.data === undefined ? (
          <SkeletonRows />
        ) : (
          <Blank
            title="No documents yet"
            actions={
              <LinkButton href="/app/upload" tone="primary">
                Upload documents
              </LinkButton>
            }
          >
            Drop files or a whole folder, and they can be searched seconds later.
          </Blank>
        )}
      </Page>
    );
  return (
    <Page
      title="Documents"
      actions={
        <LinkButton href={uploadTo(chosen)} tone="primary">
          Upload
        </LinkButton>
      }
    >
      <InCollection
        key={chosen}
        collection={chosen}
        names={names.data ?? []}
        filter={query.show === 'failed' ? 'failed' : 'all'}
        onChoose={(name) => route(documentsOf(name))}
        onFilter={(filter) => route(filter === 'failed' ? failedOf(chosen) : documentsOf(chosen), true)}
      />
    </Page>
  );
}

interface InCollectionProps {
  readonly collection: string;
  readonly names: readonly string[];
  readonly filter: Filter;
  readonly onChoose: (name: string) => void;
  readonly onFilter: (filter: Filter) => void;
}

function InCollection({ collection, names, filter, onChoose, onFilter }: InCollectionProps) {
  const onlyFailed = filter === 'failed';
  const { list, prefix, typed, setTyped } = useDocumentList({ collection, onlyFailed });
  const seen = useRef<Seen>({ first: 0, end: 0 });
  const [retries, setRetries] = useState(0);
  const status = useLoad((abort) => getStatus(collection, abort), [collection]);
  usePoll(
    async (abort) => {
      const found = await getStatus(collection, abort);
      const changed = JSON.stringify(found) !== JSON.stringify(status.data);
      status.replace(found);
      const isBusy = found.num_parsing_documents + found.num_indexing_documents > 0;
      const rows = list.rows.peek().slice(seen.current.first, seen.current.end);
      // One that was tried again may have failed again between two looks, and the numbers are as they were.
      const mayDiffer = changed || onlyFailed || rows.some((row) => !isSettled(row.index_status));
      if (mayDiffer) await list.refresh(seen.current);
      return isBusy ? 'busy' : 'idle';
    },
    [list, retries],
  );

  return (
    <div class="stack">
      <div class="filters">
        <CollectionField names={names} chosen={collection} onChoose={onChoose} />
        <PrefixField typed={typed} onType={setTyped} />
        <FilterChoice filter={filter} status={status.data} onChoose={onFilter} />
      </div>
      <UnderWay status={status.data} />
      <DocumentRows
        key={`${filter}\n${prefix}`}
        list={list}
        filter={filter}
        prefix={prefix}
        collection={collection}
        onRetried={() => setRetries(retries + 1)}
        onSeen={(now) => {
          seen.current = now;
          noteScroll(list);
        }}
      />
    </div>
  );
}

/** The list below the prefix that is typed; where somebody came back to it, as it was left. */
function useDocumentList({ collection, onlyFailed }: Omit<ListOptions, 'prefix'>) {
  const [left] = useState(() => leftHere({ collection, onlyFailed }));
  const [typed, setTyped] = useState(left?.options.prefix ?? '');
  const prefix = useSettled(typed);
  const again = useRef(left?.list ?? null);
  const list = useMemo(() => {
    const found = again.current ?? new DocumentList({ collection, prefix, onlyFailed });
    again.current = null;
    return found;
  }, [collection, prefix, onlyFailed]);
  useLayoutEffect(() => {
    if (left !== null) window.scrollTo(0, left.scrollY);
  }, []);
  useEffect(() => {
    keepHere(list, { collection, prefix, onlyFailed });
    list.open();
    return () => list.close();
  }, [list]);
  useEffect(() => {
    if (list.error.peek() !== null) void list.loadMore();
  }, [list, returns.value]);
  return { list, prefix, typed, setTyped };
}

function PrefixField({
  typed,
  onType,
}: {
  readonly typed: string;
  readonly onType: (typed: string) => void;
}) {
  return (
    <Field label="Path begins with">
      {(control) => (
        <input
          {...control}
          type="search"
          autoComplete="off"
          spellcheck={false}
          placeholder="reports/2026/"
          value={typed}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface FilterChoiceProps {
  readonly filter: Filter;
  readonly status: StatusResponse | undefined;
  readonly onChoose: (filter: Filter) => void;
}

function FilterChoice({ filter, status, onChoose }: FilterChoiceProps) {
  const words = (name: string, number: number | undefined) => (
    <>
      {name} <span class="tally">{number === undefined ? '' : count(number)}</span>
    </>
  );
  return (
    <Choice
      legend="Which documents"
      name="filter"
      value={filter}
      words={[
        ['all', words('All', status?.num_documents)],
        ['failed', words('Failed', status?.num_failed_documents)],
      ]}
      onChange={onChoose}
    />
  );
}

function UnderWay({ status }: { readonly status: StatusResponse | undefined }) {
  const left = status === undefined ? 0 : status.num_parsing_documents + status.num_indexing_documents;
  return (
    <p class="under-way soft" role="status">
      {left > 0 && `${counted(left, 'document')} under way`}
      {status?.waiting_for?.map((reason) => ` · ${reason}`)}
    </p>
  );
}

/** The text once nobody has typed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
