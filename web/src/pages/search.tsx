import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { isSingleColumn } from '../browser/media.ts';
import { queryFocusRequests, takeQueryFocusRequest } from '../browser/query-focus.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { Field, RadioGroup } from '../components/field.tsx';
import { lazyPart } from '../components/lazy-part.tsx';
import { Page } from '../components/page.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { searchUrl } from '../page-urls.ts';
import { type AsyncAction, useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/search.ts';
import { rich } from '../texts/rich-text.ts';
import { answerSearch, chatModel, isAnswerable, loadChatModel } from './answers/answer-state.ts';
import { CollectionField, useCollection } from './collection-select.tsx';
import { CurationsOverlay } from './curations-overlay.tsx';
import { IndexingNotice, useIndexingCount } from './indexing-progress.tsx';
import { useQueryInUrl } from './search-fragment.ts';
import { type HistoryEntry, recordQuery } from './search-history.ts';
import { HistoryMenu } from './search-history-menu.tsx';
import { QueryOptions } from './search-options.tsx';
import {
  findFilterError,
  isRunnable,
  repliesFor,
  runQuery,
  type SearchReplies,
  searchQuery,
  updateQuery,
} from './search-query.ts';
import { resultsMax, type SimilarSubject, toFragment } from './search-settings.ts';
import { SynonymsOverlay } from './synonyms-overlay.tsx';

const CodeDialog = lazyPart<{ readonly collection: string; readonly onClose: () => void }>(() =>
  import('./code-dialog.tsx').then((module) => module.CodeDialog),
);

const loadAnswerPanel = () => import('./answers/answer-panel.tsx').then((module) => module.AnswerPanel);
const AnswerPanel = lazyPart(loadAnswerPanel);

/** The first results load this code together with the reply. */
const loadResults = () => import('./search-results.tsx').then((module) => module.SearchResults);
const SearchResults = lazyPart(loadResults);

/** Search page: run queries and see how each result was found. */
export function SearchPage() {
  const { route } = useLocation();
  const { names: collections, selected } = useCollection();
  const [isCode, setCode] = useState(false);
  const resultsSection = useRef<HTMLElement>(null);
  const submission = useSearch(selected, resultsSection);
  const runFragment = useQueryInUrl(selected, submission);
  const found = repliesFor(selected);
  const inProgress = useIndexingCount(selected);
  useRetryWhenIndexed(inProgress, { isEnabled: found?.first.results.length === 0, submission });
  const field = useQueryField();
  if (collections.error !== null && collections.data === undefined)
    return (
      <Page title={texts.search}>
        <LoadError error={collections.error} onRetry={collections.reload} />
      </Page>
    );
  if (collections.data?.length === 0)
    return (
      <Page title={texts.search}>
        <NoCollections />
      </Page>
    );
  return (
    <Page
      title={texts.search}
      subtitle={texts.runQueriesAndSeeHow}
      // An on-screen keyboard that opens by itself would cover half of a small screen.
      {...(isSingleColumn.peek() ? {} : { initialFocus: field })}
      actions={
        <SearchActions
          isReady={selected !== null}
          onCode={() => setCode(true)}
          onChoose={({ collection, fragment }) => {
            if (collection !== selected) route(searchUrl(collection), true);
            runFragment(fragment);
          }}
        />
      }
    >
      <div class="search-page">
        <Form
          submission={submission}
          field={field}
          collections={collections.data ?? []}
          selected={selected}
          onChoose={(name) => route(searchUrl(name), true)}
        />
        <section
          ref={resultsSection}
          class="results-pane"
          tabIndex={-1}
          aria-label={texts.results}
          aria-busy={submission.isBusy}
        >
          <ErrorMessage error={submission.error} />
          <IndexingNotice inProgress={inProgress} />
          <ResultsPane found={found} submission={submission} />
        </section>
      </div>
      {isCode && selected !== null && <CodeDialog collection={selected} onClose={() => setCode(false)} />}
      <SynonymsOverlay />
      <CurationsOverlay />
    </Page>
  );
}

/** Runs the query, and lets the chat model answer it. */
function useSearch(selected: string | null, resultsSection: RefObject<HTMLElement | null>): AsyncAction {
  useEffect(() => {
    void prepareAnswers();
  }, []);
  return useAsyncAction(async () => {
    if (selected === null) return;
    const fragment = toFragment(searchQuery.peek());
    // `SearchResults` reports a failure.
    loadResults().catch(() => undefined);
    // The panel appears together with the results, and does not move them.
    await prepareAnswers();
    await runQuery(selected);
    recordQuery({ collection: selected, fragment });
    // After the search, whose times it would change.
    const replies = repliesFor(selected);
    if (replies !== null) answerSearch(replies);
    // On narrow screens the results are below the form and would go unnoticed.
    if (isSingleColumn.peek()) {
      // The focus closes the on-screen keyboard.
      resultsSection.current?.focus({ preventScroll: true });
      resultsSection.current?.scrollIntoView({ block: 'start' });
    }
  });
}

/** Loads the name of the chat model, and the code of the panel if there is a model. */
async function prepareAnswers(): Promise<void> {
  await loadChatModel();
  // `AnswerPanel` reports a failure.
  if (chatModel.peek() !== null) await loadAnswerPanel().catch(() => undefined);
}

interface ResultsPaneProps {
  readonly found: SearchReplies | null;
  readonly submission: AsyncAction;
}

function ResultsPane({ found, submission }: ResultsPaneProps) {
  const { isBusy } = submission;
  const model = chatModel.value;
  if (found !== null)
    return (
      <>
        {model !== null && isAnswerable(found) && (
          <AnswerPanel found={found.first} model={model} isStale={isBusy} />
        )}
        <SearchResults found={found} isStale={isBusy} onFilter={submission.start} />
      </>
    );
  if (isBusy) return <ResultsSkeleton />;
  return <EmptyState title={texts.searchYourDocuments}>{texts.enterAQuestionOrKeywords}</EmptyState>;
}

/** Placeholder of a summary and of the first results. */
function ResultsSkeleton() {
  return (
    <div role="status" aria-label={texts.searching}>
      <div class="summary">
        <Skeleton lines={2} width="30%" />
      </div>
      <div class="results">
        {[0, 1, 2].map((i) => (
          <div key={i} class="result">
            <Skeleton lines={4} width="60%" />
          </div>
        ))}
      </div>
    </div>
  );
}

/** Reference to the field of the query, which receives the focus on request. */
function useQueryField(): RefObject<HTMLTextAreaElement | null> {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!takeQueryFocusRequest()) return;
    field.current?.focus();
    field.current?.select();
  }, [queryFocusRequests.value]);
  return field;
}

interface SearchActionsProps {
  readonly isReady: boolean;
  readonly onCode: () => void;
  readonly onChoose: (entry: HistoryEntry) => void;
}

function SearchActions({ isReady, onCode, onChoose }: SearchActionsProps) {
  return (
    <>
      <HistoryMenu onChoose={onChoose} />
      <Button disabled={!isReady} onClick={onCode}>
        {texts.copyAsCode}
      </Button>
    </>
  );
}

function NoCollections() {
  return (
    <EmptyState
      title={texts.noDocumentsToSearch}
      actions={
        <LinkButton href="/app/upload" tone="primary">
          {texts.uploadDocuments}
        </LinkButton>
      }
    >
      {texts.uploadDocumentsFirstTheyBecome}
    </EmptyState>
  );
}

/** Repeats a query without results once the pending documents are indexed. */
function useRetryWhenIndexed(
  inProgress: number | undefined,
  { isEnabled, submission }: { readonly isEnabled: boolean; readonly submission: AsyncAction },
): void {
  const before = useRef(inProgress);
  useEffect(() => {
    const hasEnded = inProgress === 0 && before.current !== undefined && before.current > 0;
    before.current = inProgress;
    if (hasEnded && isEnabled) submission.start();
  }, [inProgress]);
}

interface FormProps {
  readonly submission: AsyncAction;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly collections: readonly string[];
  readonly selected: string | null;
  readonly onChoose: (name: string) => void;
}

function Form({ submission, field, collections, selected, onChoose }: FormProps) {
  const { query, kind, similarTo } = searchQuery.value;
  const filterError = findFilterError(searchQuery.value.filter);
  const isReady = isRunnable(searchQuery.value);
  const isPending = useRef(false);
  const start = () => {
    if (!isReady) return;
    isPending.current = selected === null;
    if (selected !== null) submission.start();
  };
  // Run a query that was submitted before the collections were loaded.
  useEffect(() => {
    if (isPending.current && selected !== null) start();
  }, [selected]);
  return (
    <form
      class="card query-form"
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      {similarTo !== null && <SimilarNote source={similarTo} />}
      <Field label={texts.query}>
        {(controlProps) => (
          <textarea
            {...controlProps}
            ref={field}
            rows={3}
            maxLength={8_192}
            placeholder={similarTo === null ? texts.howLongDoRefundsTake : texts.optionalWordsToSearchFor}
            value={query}
            onInput={(event) => updateQuery({ query: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              start();
            }}
          />
        )}
      </Field>
      <RadioGroup
        legend={texts.resultType}
        name="kind"
        value={kind}
        options={[
          ['snippets', texts.snippets],
          ['pages', texts.pages],
          ['documents', texts.documents],
        ]}
        onChange={(next) => updateQuery({ kind: next, k: Math.min(searchQuery.value.k, resultsMax[next]) })}
      />
      <CollectionField names={collections} selected={selected} onChoose={onChoose} />
      <Button type="submit" tone="primary" class="wide" busy={submission.isBusy} disabled={!isReady}>
        {texts.search}
      </Button>
      <QueryOptions filterError={filterError} collection={selected} />
    </form>
  );
}

/** The document whose similar content is searched. */
function SimilarNote({ source: { path, start } }: { readonly source: SimilarSubject }) {
  return (
    <div class="similar-note">
      <span>
        {start === null ? (
          <>{rich(texts.similarToPath, { path: <strong>{path}</strong> })}</>
        ) : (
          <>{rich(texts.similarToAPartOf, { path: <strong>{path}</strong> })}</>
        )}
      </span>
      <button
        type="button"
        class="icon-button"
        aria-label={texts.searchByQueryInstead}
        onClick={() => updateQuery({ similarTo: null })}
      >
        <span aria-hidden="true">×</span>
      </button>
    </div>
  );
}
