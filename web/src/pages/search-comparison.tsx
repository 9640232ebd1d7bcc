import { formatCount, formatDuration } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
import { texts } from '../texts/en/results.ts';
import { fill } from '../texts/format-text.ts';
import { LatencyBreakdown } from './latency-breakdown.tsx';
import { Excerpt, MatchStrength } from './result-excerpt.tsx';
import { type ResultItem, toResultItems } from './result-items.ts';
import { noReranker, type SearchReplyBody } from './search-query.ts';

/** Results shown per search. */
const shownMax = 50;

/** Two lists of results side by side, with the change of each rank. */
export function SearchComparison({ first, second }: Record<'first' | 'second', SearchReplyBody>) {
  const [firstItems, secondItems] = [toResultItems(first), toResultItems(second)];
  return (
    <div class="comparison">
      <ComparedList name={texts.firstSearch} reply={first} items={firstItems} others={secondItems} />
      <ComparedList name={texts.secondSearch} reply={second} items={secondItems} others={firstItems} />
    </div>
  );
}

interface ComparedListProps {
  readonly name: string;
  readonly reply: SearchReplyBody;
  readonly items: readonly ResultItem[];
  readonly others: readonly ResultItem[];
}

function ComparedList({ name, reply, items, others }: ComparedListProps) {
  return (
    <section aria-label={name}>
      <header>
        <h2>{name}</h2>
        <p class="muted number">
          {describeSettings(reply)} · {formatDuration(reply.ms)}
        </p>
        <LatencyBreakdown found={reply} />
      </header>
      {items.length === 0 && <p class="muted">{texts.noResults}</p>}
      <ol class="results">
        {items.slice(0, shownMax).map((item, rank) => (
          <li key={item.key} class="result">
            <div class="result-head">
              <span class="rank number" aria-hidden="true">
                {formatCount(rank + 1)}
              </span>
              <a
                class="cut"
                href={documentUrl(reply.collection, item.path, item.page ?? undefined, item.passage)}
                title={item.path}
              >
                {item.path}
              </a>
              <RankChange rank={rank} other={others.findIndex((each) => isSame(item, each))} />
            </div>
            {item.text !== null && (
              <Excerpt text={item.text} explain={item.explain} highlights={item.highlights} unitsMax={240} />
            )}
            <MatchStrength relevance={item.explain?.relevance ?? null} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function describeSettings({ kind, settings: { reranker, latency, isPrecise } }: SearchReplyBody): string {
  const rerankerName =
    reranker === noReranker ? texts.noReranker : reranker === '' ? texts.defaultReranking : reranker;
  return [
    rerankerName,
    ...(kind === 'snippets' ? [isPrecise ? texts.precise : texts.notPrecise] : []),
    ...(latency === 'high' ? [texts.deeperSearch] : []),
  ].join(', ');
}

/** Snippets of different lengths are the same result if they overlap. */
function isSame(one: ResultItem, other: ResultItem): boolean {
  if (one.path !== other.path) return false;
  if (one.span === null || other.span === null) return one.page === other.page;
  return one.span.start < other.span.end && other.span.start < one.span.end;
}

/** `other`: rank in the other list, or -1. */
function RankChange({ rank, other }: { readonly rank: number; readonly other: number }) {
  const [kind, text] =
    other < 0
      ? ['new', texts.onlyHere]
      : other === rank
        ? ['same', texts.sameRank]
        : other > rank
          ? ['up', fill(texts.otherHigher, { other: formatCount(other - rank) })]
          : ['down', fill(texts.rankLower, { rank: formatCount(rank - other) })];
  return <span class={`rank-change ${kind}`}>{text}</span>;
}
