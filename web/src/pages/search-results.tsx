import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { findBestSentence } from '../../../src/core/excerpt.ts';
import { goodMatchMin } from '../../../src/core/good-match.ts';
import type * as wire from '../../../src/schemas/queries.ts';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { formatCount, formatCounted, formatDuration, formatScore } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
import { Explanation, maxLexicalScore } from './explanation.tsx';
import { HighlightedText } from './highlighted-text.tsx';
import { PageThumbnail } from './page-thumbnail.tsx';
import { countCodePoints, type Passage } from './passage.ts';
import type { SearchReply } from './search-query.ts';

/** Maximum number of results with a page thumbnail. */
const thumbnailsMax = 20;
/** Results shown at first, and added per click on "more". */
const pageSize = 50;

interface SearchResultsProps {
  readonly found: SearchReply | null;
  /** Whether another query is running. */
  readonly isStale: boolean;
}

/** Results of a query, best first. */
export function SearchResults({ found, isStale }: SearchResultsProps) {
  if (found === null)
    return (
      <EmptyState title="Search your documents">
        Enter a question or keywords. Each result opens at its best sentence, with page and score.
      </EmptyState>
    );
  return (
    <div class={isStale ? 'stale' : ''}>
      <Summary found={found} />
      {found.warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      {found.results.length === 0 ? (
        <EmptyState title="No results">
          Documents that are not indexed yet cannot be found. A filter may exclude all others.
        </EmptyState>
      ) : (
        <>
          <MatchNote found={found} />
          <Results key={found.number} found={found} />
        </>
      )}
    </div>
  );
}

/** Every query has nearest texts, also one without an answer in the collection. */
function MatchNote({ found }: { readonly found: SearchReply }) {
  if (found.explanation?.good_match === false)
    return (
      <p class="note">
        <strong>No good match.</strong> The collection probably does not answer this. These are the nearest
        texts.
      </p>
    );
  if (found.results.some(matchesWord)) return null;
  return <p class="note">No result contains a word of the query. These texts are the closest in meaning.</p>;
}

function matchesWord({ explain }: ResultProps['result']): boolean {
  return explain === undefined || explain.lexical.terms.length > 0;
}

function Summary({ found }: { readonly found: SearchReply }) {
  const timings = found.explanation?.ms;
  const server =
    timings === undefined ? null : timings.embed + timings.search + timings.rerank + timings.read;
  const corrected = found.explanation?.spelling ?? [];
  return (
    <div class="summary">
      <p role="status" class="number">
        <strong>{formatCounted(found.results.length, 'result')}</strong> in {formatDuration(found.ms)}
        {server !== null && <span class="muted"> · {formatDuration(server)} on the server</span>}
      </p>
      {timings !== undefined && (
        <p class="muted number times">
          Embedding {formatDuration(timings.embed)} · search {formatDuration(timings.search)} · reranking{' '}
          {formatDuration(timings.rerank)} · reading {formatDuration(timings.read)}
        </p>
      )}
      {corrected.map(({ typed, read_as: readAs }) => (
        <p key={typed} class="note">
          No results for “{typed}”. Showing results for “{readAs}”.
        </p>
      ))}
    </div>
  );
}

/** Rendering two thousand results at once would make the page slow, so they are shown in steps. */
function Results({ found }: { readonly found: SearchReply }) {
  const [shownCount, setShownCount] = useState(pageSize);
  const left = found.results.length - shownCount;
  return (
    <>
      <ol class="results">
        <ResultItems found={found} max={shownCount} />
      </ol>
      {left > 0 && (
        <div class="row center more-results">
          <Button onClick={() => setShownCount(shownCount + pageSize)}>
            Show {formatCount(Math.min(left, pageSize))} more of {formatCount(left)}
          </Button>
        </div>
      )}
    </>
  );
}

function ResultItems({ found, max }: { readonly found: SearchReply; readonly max: number }) {
  const { collection } = found;
  const highest = maxLexicalScore(found.results);
  switch (found.kind) {
    case 'snippets':
      return found.results.slice(0, max).map((result, i) => {
        const [first = 0, end = 1] = result.page_span;
        const key = `${result.path}\n${result.start_index}\n${result.end_index}`;
        return (
          <Result
            key={key}
            location={{ collection, path: result.path, page: first, end, passage: passageOfSnippet(result) }}
            result={result}
            highest={highest}
            rank={i}
          >
            <Excerpt text={result.content} explain={result.explain} />
          </Result>
        );
      });
    case 'pages':
      return found.results.slice(0, max).map((result, i) => {
        const location = {
          collection,
          path: result.path,
          page: result.page_index,
          end: result.page_index + 1,
          passage: passageOfPage(result),
        };
        return (
          <Result
            key={`${result.path}\n${location.page}`}
            location={location}
            image={result.image_url}
            result={result}
            highest={highest}
            rank={i}
          >
            <Excerpt text={result.content ?? ''} explain={result.explain} />
          </Result>
        );
      });
    case 'documents':
      return found.results.slice(0, max).map((result, i) => (
        <Result
          key={result.path}
          location={{ collection, path: result.path, page: null, end: null, passage: undefined }}
          result={result}
          highest={highest}
          rank={i}
          image={null}
        >
          <MetadataList metadata={result.metadata} />
        </Result>
      ));
  }
}

/** Passage that answers the query: the best sentence of the snippet, else all of it. */
function passageOfSnippet({
  content,
  start_index: start,
  end_index: end,
  explain,
}: wire.SnippetResponse): Passage {
  const best = findBestSentence(content, explain?.lexical.words ?? []);
  if (best === null) return { page: null, start, end };
  const first = start + countCodePoints(content.slice(0, best.start));
  const length = countCodePoints(content.slice(best.start, best.end));
  return { page: null, start: first, end: first + length };
}

/** The best sentence of a page, if it contains a word of the query. */
function passageOfPage({
  content,
  page_index: page,
  explain,
}: wire.PageRetrievalResponse): Passage | undefined {
  const text = content ?? '';
  const best = findBestSentence(text, explain?.lexical.words ?? []);
  if (best === null) return undefined;
  const start = countCodePoints(text.slice(0, best.start));
  return { page, start, end: start + countCodePoints(text.slice(best.start, best.end)) };
}

interface ResultLocation {
  readonly collection: string;
  readonly path: string;
  /** First page, from 0; null if the result has no page. */
  readonly page: number | null;
  /** The page after the last one. */
  readonly end: number | null;
  readonly passage: Passage | undefined;
}

interface ResultProps {
  readonly location: ResultLocation;
  readonly result: { readonly score: number; readonly explain?: wire.ResultExplanation };
  readonly highest: number;
  readonly rank: number;
  /** URL of the page image; undefined if it must be loaded. */
  readonly image?: string | null;
  readonly children: ComponentChildren;
}

function Result({ location, result, highest, rank, image, children }: ResultProps) {
  const [isExplained, setExplained] = useState(false);
  const { collection, path, page, passage } = location;
  const { explain } = result;
  return (
    <li class="result">
      <div class="result-head">
        <span class="rank number" aria-hidden="true">
          {formatCount(rank + 1)}
        </span>
        <a class="cut" href={documentUrl(collection, path, page ?? undefined, passage)} title={path}>
          {path}
        </a>
        {page !== null && <span class="muted number">{pageLabel(location)}</span>}
        <MatchStrength relevance={explain?.relevance ?? null} />
      </div>
      <div class="result-body">
        <div class="result-text">{children}</div>
        {page !== null && rank < thumbnailsMax && (
          <PageThumbnail
            reference={{ collection, path }}
            first={page}
            end={location.end ?? page + 1}
            knownUrl={image}
            passage={passage}
            words={explain?.lexical.words.flat() ?? []}
          />
        )}
      </div>
      {explain !== undefined && (
        <button
          type="button"
          class="text-button"
          aria-expanded={isExplained}
          onClick={() => setExplained(!isExplained)}
        >
          {isExplained ? 'Hide score details' : 'Show score details'}
        </button>
      )}
      {isExplained && explain !== undefined && (
        <Explanation score={result.score} explain={explain} highest={highest} />
      )}
    </li>
  );
}

/** Match strength is comparable between queries. It is measured for the first results only. */
function MatchStrength({ relevance }: { readonly relevance: number | null }) {
  if (relevance === null) return null;
  return (
    <span class="match-strength" title={`Match strength ${formatScore(relevance)} of 1`}>
      <span class="level" aria-hidden="true">
        <span style={{ width: `${Math.round(relevance * 100)}%` }} />
      </span>
      {relevance >= goodMatchMin ? 'Good match' : 'Weak match'}
    </span>
  );
}

function pageLabel({ page, end }: ResultLocation): string {
  const first = (page ?? 0) + 1;
  const last = end ?? first;
  return last > first ? `pages ${formatCount(first)}–${formatCount(last)}` : `page ${formatCount(first)}`;
}

/** Length of an excerpt before it is expanded, in UTF-16 units. */
const excerptUnits = 700;

/** Text of a result. A long one starts at its best sentence until it is expanded. */
function Excerpt({
  text,
  explain,
}: {
  readonly text: string;
  readonly explain: wire.ResultExplanation | undefined;
}) {
  const [isExpanded, setExpanded] = useState(false);
  const wordsOfTerms = explain?.lexical.words ?? [];
  const words = wordsOfTerms.flat();
  const isLong = text.length > excerptUnits + 100;
  const best = findBestSentence(text, wordsOfTerms) ?? { start: 0, end: 0 };
  const first = isLong && !isExpanded ? best.start : 0;
  const last = isLong && !isExpanded ? Math.min(text.length, first + excerptUnits) : text.length;
  return (
    <>
      <p class="excerpt">
        {first > 0 && '… '}
        <HighlightedText text={text.slice(first, best.start)} words={words} />
        {best.end > best.start && (
          <span class="best-sentence">
            <HighlightedText text={text.slice(best.start, best.end)} words={words} />
          </span>
        )}
        <HighlightedText text={text.slice(best.end, last)} words={words} />
        {last < text.length && '…'}
      </p>
      {isLong && (
        <button
          type="button"
          class="text-button"
          aria-expanded={isExpanded}
          onClick={() => setExpanded(!isExpanded)}
        >
          {isExpanded ? 'Show less' : 'Show all'}
        </button>
      )}
    </>
  );
}

function MetadataList({ metadata }: { readonly metadata: wire.DocumentRetrievalResponse['metadata'] }) {
  const entries = Object.entries(metadata ?? {});
  if (entries.length === 0) return <p class="muted">No metadata.</p>;
  return (
    <dl class="properties">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? value : value.join(', ')}</dd>
        </div>
      ))}
    </dl>
  );
}
