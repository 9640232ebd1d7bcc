import { useState } from 'preact/hooks';
import type * as wire from '../../../src/schemas/queries.ts';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { formatMetadataValue } from '../format/metadata-value.ts';
import { formatCount, formatCounted, formatDuration } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
import { Explanation, maxLexicalScore } from './explanation.tsx';
import { LatencyBreakdown } from './latency-breakdown.tsx';
import { PageThumbnail } from './page-thumbnail.tsx';
import { Excerpt, MatchStrength } from './result-excerpt.tsx';
import { type ResultItem, toResultItems } from './result-items.ts';
import { SearchComparison } from './search-comparison.tsx';
import type { SearchReplies, SearchReplyBody } from './search-query.ts';

/** Maximum number of results with a page thumbnail. */
const thumbnailsMax = 20;
/** Results shown at first, and added per click on "more". */
const pageSize = 50;

interface SearchResultsProps {
  readonly found: SearchReplies | null;
  /** Whether another query is running. */
  readonly isStale: boolean;
}

/** Results of a query, best first. */
export function SearchResults({ found: replies, isStale }: SearchResultsProps) {
  if (replies === null)
    return (
      <EmptyState title="Search your documents">
        Enter a question or keywords. Each result opens at its best sentence, with page and score.
      </EmptyState>
    );
  const { first: found, second } = replies;
  if (second !== null)
    return (
      <div class={isStale ? 'stale' : ''}>
        <SearchComparison first={found} second={second} />
      </div>
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

/** Every query has nearest texts, even if the collection contains no answer. */
function MatchNote({ found }: { readonly found: SearchReplyBody }) {
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

function matchesWord({ explain }: { readonly explain?: wire.ResultExplanation }): boolean {
  return explain === undefined || explain.lexical.terms.length > 0;
}

function Summary({ found }: { readonly found: SearchReplyBody }) {
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
      <LatencyBreakdown found={found} />
      {corrected.map(({ typed, read_as: readAs }) => (
        <p key={typed} class="note">
          No results for “{typed}”. Showing results for “{readAs}”.
        </p>
      ))}
    </div>
  );
}

/** Rendering two thousand results at once would make the page slow, so they are shown in steps. */
function Results({ found }: { readonly found: SearchReplyBody }) {
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

function ResultItems({ found, max }: { readonly found: SearchReplyBody; readonly max: number }) {
  const highest = maxLexicalScore(found.results);
  return toResultItems(found)
    .slice(0, max)
    .map((item, rank) => (
      <Result key={item.key} collection={found.collection} item={item} highest={highest} rank={rank} />
    ));
}

interface ResultProps {
  readonly collection: string;
  readonly item: ResultItem;
  readonly highest: number;
  readonly rank: number;
}

function Result({ collection, item, highest, rank }: ResultProps) {
  const [isExplained, setExplained] = useState(false);
  const { path, page, passage, explain, text } = item;
  return (
    <li class="result">
      <div class="result-head">
        <span class="rank number" aria-hidden="true">
          {formatCount(rank + 1)}
        </span>
        <a class="cut" href={documentUrl(collection, path, page ?? undefined, passage)} title={path}>
          {path}
        </a>
        {page !== null && <span class="muted number">{pageLabel(item)}</span>}
        <MatchStrength relevance={explain?.relevance ?? null} />
      </div>
      <div class="result-body">
        <div class="result-text">
          {text === null ? (
            <MetadataList metadata={item.metadata} />
          ) : (
            <Excerpt text={text} explain={explain} unitsMax={excerptUnits} />
          )}
        </div>
        {page !== null && rank < thumbnailsMax && (
          <PageThumbnail
            reference={{ collection, path }}
            first={page}
            end={item.end ?? page + 1}
            knownUrl={item.image}
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
        <Explanation score={item.score} explain={explain} highest={highest} />
      )}
    </li>
  );
}

function pageLabel({ page, end }: Pick<ResultItem, 'page' | 'end'>): string {
  const first = (page ?? 0) + 1;
  const last = end ?? first;
  return last > first ? `pages ${formatCount(first)}–${formatCount(last)}` : `page ${formatCount(first)}`;
}

/** Length of an excerpt before it is expanded, in UTF-16 units. */
const excerptUnits = 700;

function MetadataList({ metadata }: { readonly metadata: wire.DocumentRetrievalResponse['metadata'] }) {
  const entries = Object.entries(metadata ?? {});
  if (entries.length === 0) return <p class="muted">No metadata.</p>;
  return (
    <dl class="properties">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{formatMetadataValue(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
