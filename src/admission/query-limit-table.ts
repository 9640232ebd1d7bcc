import { queryLimits } from '../core/query-limits.ts';
import { type EffectRow, formatNumber, renderEffectTable } from './limit-row.ts';

/** Limits of queries that shorten or approximate a reply. */
export const queryEffectRows: readonly EffectRow[] = [
  {
    limit: 'Highlights of a result',
    bounds: 'Ranges, and UTF-16 units of the content that are examined',
    value: `${formatNumber(queryLimits.highlightsMax)}, ${formatNumber(queryLimits.highlightedUnitsMax)}`,
    effect: 'further words are not highlighted',
    enforcedIn: 'search/highlights.ts highlightsMax',
  },
  {
    limit: 'Source of similar content',
    bounds: 'Chunks of the document of `similar_to`',
    value: formatNumber(queryLimits.similarRowsMax),
    effect: 'the vector of the document is the mean of its first chunks',
    enforcedIn: 'services/similar-source.ts similarRowsMax',
  },
  {
    limit: 'Diversity',
    bounds: 'Candidates that are compared',
    value: formatNumber(queryLimits.diverseCandidatesMax),
    effect: 'results are chosen from the best candidates',
    enforcedIn: 'search/diversity.ts diverseCandidatesMax',
  },
];

export function renderQueryLimits(): string {
  return `\n## Parts of query replies\n\nThese limits reject no request.\n\n${renderEffectTable(queryEffectRows)}`;
}
