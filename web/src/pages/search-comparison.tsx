import { formatCount, formatDuration } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
import { useLoad } from '../server/load.ts';
import { listModels } from '../server/retrieval.ts';
import { texts } from '../texts/en/results.ts';
import { texts as optionTexts } from '../texts/en/search-options.ts';
import { fill } from '../texts/format-text.ts';
import { LatencyBreakdown } from './latency-breakdown.tsx';
import { Excerpt, MatchStrength } from './result-excerpt.tsx';
import { type ResultItem, toResultItems } from './result-items.ts';
import { noReranker, type SearchReplyBody } from './search-query.ts';

/** Lines of an excerpt before it is expanded. */
const excerptLines = 3;
/** Results shown per search. */
const shownMax = 50;

/** Two lists of results side by side, with the change of each rank. */
export function SearchComparison({ first, second }: Record<'first' | 'second', SearchReplyBody>) {
  const [firstItems, secondItems] = [toResultItems(first), toResultItems(second)];
  const models = useLoad(listModels, []);
  const defaultReranker = models.data?.default_reranker ?? null;
  const [firstSettings, secondSettings] = [first, second].map((reply) => settingsOf(reply, defaultReranker));
  const isEqual =
    firstItems.length === secondItems.length &&
    firstItems.every((item, i) => secondItems[i] !== undefined && isSame(item, secondItems[i]));
  const lists = [
    { name: texts.firstSearch, reply: first, items: firstItems, others: secondItems },
    { name: texts.secondSearch, reply: second, items: secondItems, others: firstItems },
  ];
  return (
    <>
      {isEqual && firstItems.length > 0 && <p class="note">{texts.bothSearchesFindTheSame}</p>}
      <div class="comparison">
        {lists.map((list, i) => (
          <ComparedList
            key={list.name}
            {...list}
            settings={(i === 0 ? firstSettings : secondSettings) ?? []}
            otherSettings={(i === 0 ? secondSettings : firstSettings) ?? []}
            hasRanks={!isEqual}
          />
        ))}
      </div>
    </>
  );
}

/** Settings of a search as the form names them. The reranker comes last, because its name may load later. */
function settingsOf(
  { kind, settings: { reranker, latency, isPrecise } }: SearchReplyBody,
  defaultReranker: string | null,
): readonly string[] {
  const setting = (name: string, value: string) => fill(optionTexts.settingValue, { name, value });
  const toggle = (name: string, isOn: boolean) => setting(name, isOn ? optionTexts.on : optionTexts.off);
  const rerankerName = reranker === '' ? defaultReranker : reranker === noReranker ? null : reranker;
  return [
    ...(kind === 'snippets' ? [toggle(optionTexts.preciseSnippets, isPrecise)] : []),
    toggle(optionTexts.deeperSearch, latency === 'high'),
    setting(optionTexts.reranker, rerankerName ?? optionTexts.none2),
  ];
}

interface ComparedListProps {
  readonly name: string;
  readonly reply: SearchReplyBody;
  readonly items: readonly ResultItem[];
  readonly others: readonly ResultItem[];
  readonly settings: readonly string[];
  readonly otherSettings: readonly string[];
  /** Whether the changes of ranks are shown. */
  readonly hasRanks: boolean;
}

function ComparedList(props: ComparedListProps) {
  const { name, reply, items, others, settings, otherSettings, hasRanks } = props;
  const different = settings.filter((setting, i) => setting !== otherSettings[i]);
  return (
    <section aria-label={name}>
      <header>
        <h2>{name}</h2>
        <p class="muted number">
          {different.length > 0 ? <strong>{different.join(' · ')}</strong> : settings.join(' · ')}
          {' · '}
          {formatDuration(reply.ms)}
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
              {hasRanks && <RankChange rank={rank} other={others.findIndex((each) => isSame(item, each))} />}
            </div>
            {item.text !== null && (
              <Excerpt
                path={item.path}
                text={item.text}
                explain={item.explain}
                highlights={item.highlights}
                linesMax={excerptLines}
              />
            )}
            <MatchStrength relevance={item.explain?.relevance ?? null} />
          </li>
        ))}
      </ol>
    </section>
  );
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
