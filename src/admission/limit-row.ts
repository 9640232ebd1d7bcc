import type { WindowLimit } from '../core/rate-limits.ts';

/** One limit that can reject a request. `docs/reference/limits.md` is generated from these rows. */
export interface LimitRow {
  readonly limit: string;
  readonly bounds: string;
  readonly value: string;
  /** File under src/ and a name in it. */
  readonly enforcedIn: string;
  readonly status: 400 | 401 | 408 | 413 | 422 | 429 | 502 | 503;
  /** Value of the reply header `x-quarry-limit`; null when the header is not sent. */
  readonly header: string | null;
  readonly share: string;
}

/** One limit that has another effect than the status of a reply. */
export interface EffectRow extends Pick<LimitRow, 'limit' | 'bounds' | 'value' | 'enforcedIn'> {
  readonly effect: string;
}

export const perRequest = 'per request';
export const fairShare = 'any free capacity, except that the last eighth is shared equally';

export const formatNumber = (value: number) => value.toLocaleString('en-US');

export const formatSeconds = (ms: number) => `${formatNumber(ms / 1_000)} s`;

/** Formats windows of a rate limit: `240 per minute, 2,000 per hour`. */
export function formatWindows(windows: readonly WindowLimit[]): string {
  return windows.map(({ ms, max }) => `${formatNumber(max)} per ${formatPeriod(ms)}`).join(', ');
}

function formatPeriod(ms: number): string {
  if (ms === 3_600_000) return 'hour';
  return ms === 60_000 ? 'minute' : `${ms / 60_000} minutes`;
}

/** Renders rows of limits that have another effect than the status of a reply. */
export function renderEffectTable(rows: readonly EffectRow[]): string {
  const lines = rows.map(
    ({ limit, bounds, value, effect, enforcedIn }) =>
      `| ${limit} | ${bounds} | ${value} | ${effect} | \`${enforcedIn}\` |`,
  );
  return ['| limit | bounds | value | effect | enforced in |', '|---|---|---|---|---|', ...lines, ''].join(
    '\n',
  );
}
