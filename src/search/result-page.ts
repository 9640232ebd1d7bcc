import { AppError } from '../core/app-error.ts';

/** Part of the results of a query. */
export interface ResultPage {
  /** Number of results on the pages before. */
  readonly offset: number;
  /** Maximum number of results on all pages. */
  readonly resultsMax: number;
}

/** Parses the page of a request; null for one without cursors. Errors: 400 for a cursor that no reply contained. */
export function parsePage(
  request: {
    readonly cursor?: string | null;
    readonly include_cursor?: boolean;
    readonly group_by?: unknown;
  },
  resultsMax: number,
): ResultPage | null {
  const cursor = request.cursor ?? null;
  if (cursor === null && request.include_cursor !== true) return null;
  if ((request.group_by ?? null) !== null)
    throw new AppError('bad_request', 'cursor and include_cursor cannot be combined with group_by.');
  return { offset: cursor === null ? 0 : decodeCursor(cursor, resultsMax), resultsMax };
}

/** Returns the cursor of the page after one with `count` of `k` results; null after the last page. */
export function encodeNextCursor(
  { offset, resultsMax }: ResultPage,
  k: number,
  count: number,
): string | null {
  const next = offset + k;
  return count < k || next >= resultsMax ? null : Buffer.from(`results:${next}`).toString('base64url');
}

function decodeCursor(cursor: string, resultsMax: number): number {
  const [, digits] = /^results:([1-9]\d{0,8})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const offset = Number(digits ?? 0);
  if (offset > 0 && offset < resultsMax) return offset;
  throw new AppError('bad_request', 'cursor is invalid; send the next_cursor of the previous page.');
}
