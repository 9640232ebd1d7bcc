import { useState } from 'preact/hooks';
import { mayHavePageImages } from '../../../src/core/file-types.ts';
import type * as wire from '../../../src/schemas/queries.ts';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { lazyPart } from '../components/lazy-part.tsx';
import { formatMetadataValue } from '../format/metadata-value.ts';
import { formatCount, formatDuration } from '../format/numbers.ts';
import { documentUrl, searchUrl } from '../page-urls.ts';
import { texts } from '../texts/en/results.ts';
import { counted, fill } from '../texts/format-text.ts';
import { rich } from '../texts/rich-text.ts';
import { Explanation, rankByLexicalScore } from './explanation.tsx';
import { LatencyBreakdown } from './latency-breakdown.tsx';
import { PageThumbnail } from './page-thumbnail.tsx';
import { Excerpt, MatchStrength } from './result-excerpt.tsx';
import { type ResultItem, toResultItems } from './result-items.ts';
import { Facets } from './search-facets.tsx';
import { type SearchReplies, type SearchReplyBody, searchQuery } from './search-query.ts';
import { toFragment } from './search-settings.ts';

const SearchComparison = lazyPart<Record<'first' | 'second', SearchReplyBody>>(() =>
  import('./search-comparison.tsx').then((module) => module.SearchComparison),
);

/** Maximum number of results with a page thumbnail. */
const thumbnailsMax = 20;
/** Results shown at first, and added per click on "more". */
const pageSize = 50;

interface SearchResultsProps {
  readonly found: SearchReplies;
  /** Whether another query is running. */
  readonly isStale: boolean;
  /** Called after the filter has changed. */
  readonly onFilter: () => void;
}

/** Results of a query, best first. */
export function SearchResults({ found: replies, isStale, onFilter }: SearchResultsProps) {
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
      {found.facets !== undefined && (
        <Facets facets={found.facets} requested={found.request.facets} onFilter={onFilter} />
      )}
      {found.results.length === 0 ? (
        <EmptyState title={texts.noResults2}>{texts.documentsThatAreNotIndexed}</EmptyState>
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
        {rich(texts.noGoodMatchTheCollection, { strong: (children) => <strong>{children}</strong> })}
      </p>
    );
  if (found.request.query === '' || found.results.some(matchesWord)) return null;
  return <p class="note">{texts.noResultContainsAWord}</p>;
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
        {rich(texts.countInMs, {
          count: <strong>{counted(texts.countResults, found.results.length)}</strong>,
          ms: <strong>{formatDuration(server ?? found.ms)}</strong>,
        })}
        {server !== null && (
          <span class="muted">{fill(texts.msWithNetworkAndBrowser, { ms: formatDuration(found.ms) })}</span>
        )}
      </p>
      <LatencyBreakdown found={found} />
      {corrected.map(({ typed, read_as: readAs }) => (
        <p key={typed} class="note">
          {fill(texts.noResultsForTypedShowing, { typed, readAs })}
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
      {found.groups === undefined ? (
        <ol class="results">
          <ResultItems found={found} start={0} end={shownCount} />
        </ol>
      ) : (
        <ResultGroups found={found} groups={found.groups} max={shownCount} />
      )}
      {left > 0 && (
        <div class="row center more-results">
          <Button onClick={() => setShownCount(shownCount + pageSize)}>
            {fill(texts.showCountMoreOfLeft, {
              count: formatCount(Math.min(left, pageSize)),
              left: formatCount(left),
            })}
          </Button>
        </div>
      )}
    </>
  );
}

interface ResultGroupsProps {
  readonly found: SearchReplyBody;
  readonly groups: NonNullable<SearchReplyBody['groups']>;
  /** Results shown of all groups. */
  readonly max: number;
}

/** Results with the same value of a field below a heading. */
function ResultGroups({ found, groups, max }: ResultGroupsProps) {
  let next = 0;
  return groups.map(({ value, results }) => {
    const start = next;
    next += results;
    if (start >= max) return null;
    const name = value === null ? texts.withoutAValue : String(value);
    return (
      <section key={start} class="result-group">
        <h2>
          {found.request.group_by?.field}: {name}
        </h2>
        <ol class="results" start={start + 1}>
          <ResultItems found={found} start={start} end={Math.min(max, next)} />
        </ol>
      </section>
    );
  });
}

interface ResultItemsProps {
  readonly found: SearchReplyBody;
  readonly start: number;
  readonly end: number;
}

function ResultItems({ found, start, end }: ResultItemsProps) {
  const lexicalRanks = rankByLexicalScore(found.results);
  return toResultItems(found)
    .slice(start, end)
    .map((item, i) => (
      <Result
        key={item.key}
        collection={found.collection}
        item={item}
        lexicalRank={lexicalRanks[start + i] ?? null}
        resultCount={found.results.length}
        rank={start + i}
      />
    ));
}

interface ResultProps {
  readonly collection: string;
  readonly item: ResultItem;
  /** Rank by its keyword score, from 1; null without one. */
  readonly lexicalRank: number | null;
  readonly resultCount: number;
  readonly rank: number;
}

function Result({ collection, item, lexicalRank, resultCount, rank }: ResultProps) {
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
            <Excerpt
              path={path}
              text={text}
              explain={explain}
              highlights={item.highlights}
              linesMax={excerptLines}
            />
          )}
        </div>
        {page !== null && rank < thumbnailsMax && mayHavePageImages(path) && (
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
      <div class="row result-actions">
        {explain !== undefined && (
          <button
            type="button"
            class="text-button"
            aria-expanded={isExplained}
            onClick={() => setExplained(!isExplained)}
          >
            {isExplained ? texts.hideScoreDetails : texts.showScoreDetails}
          </button>
        )}
        <a href={similarUrl(collection, item)}>{texts.findSimilar}</a>
      </div>
      {isExplained && explain !== undefined && (
        <Explanation
          score={item.score}
          explain={explain}
          lexicalRank={lexicalRank}
          resultCount={resultCount}
        />
      )}
    </li>
  );
}

/** The current search with the result as its subject. A page has no position in its document, which is used instead. */
function similarUrl(collection: string, { path, span }: ResultItem): string {
  const similarTo = { path, start: span?.start ?? null };
  return searchUrl(collection) + toFragment({ ...searchQuery.peek(), query: '', similarTo });
}

function pageLabel({ page, end }: Pick<ResultItem, 'page' | 'end'>): string {
  const first = (page ?? 0) + 1;
  const last = end ?? first;
  return last > first
    ? fill(texts.pagesFirstLast, { first: formatCount(first), last: formatCount(last) })
    : fill(texts.pageFirst, { first: formatCount(first) });
}

/** Lines of an excerpt before it is expanded. */
const excerptLines = 6;

function MetadataList({ metadata }: { readonly metadata: wire.DocumentRetrievalResponse['metadata'] }) {
  const entries = Object.entries(metadata ?? {});
  if (entries.length === 0) return <p class="muted">{texts.noMetadata}</p>;
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
