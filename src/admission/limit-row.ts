/** One limit that can reject a request. `docs/reference/limits.md` is generated from these rows. */
export interface LimitRow {
  readonly limit: string;
  readonly bounds: string;
  readonly value: string;
  /** File under src/ and a name in it. */
  readonly enforcedIn: string;
  readonly status: 400 | 401 | 408 | 413 | 429 | 503;
  /** Value of the reply header `x-quarry-limit`; null when the header is not sent. */
  readonly header: string | null;
  readonly share: string;
}

export const formatNumber = (value: number) => value.toLocaleString('en-US');
