import { AppError } from '../core/app-error.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { TopPagesRequest, TopSnippetsRequest } from './queries.ts';

/** Rules of the options of queries. Errors: each function throws AppError `bad_request`. */

function reject(detail: string): never {
  throw new AppError('bad_request', detail);
}

/** Highlights need a text, and are computed for a limited number of results. */
export function checkHighlights(
  request: Pick<TopSnippetsRequest, 'highlights' | 'k'> & Pick<TopPagesRequest, 'include_content'>,
): void {
  const { highlights, include_content: hasContent, k } = request;
  if (highlights !== true) return;
  if (hasContent === false) reject('highlights requires include_content.');
  if (k > queryLimits.highlightedResultsMax)
    reject(`k is ${k}; with highlights, it must be at most ${queryLimits.highlightedResultsMax}.`);
}
