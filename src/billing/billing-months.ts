/** Returns the next first of a month, 00:00 UTC, in milliseconds since the epoch. */
export function firstOfNextMonth(milliseconds: number): number {
  const date = new Date(milliseconds);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Whether a time in seconds since the epoch is the start of a month. */
export function isFirstOfMonth(seconds: number): boolean {
  const date = new Date(seconds * 1_000);
  return date.getUTCDate() === 1 && seconds % 86_400 === 0;
}

/** Returns the UTC month, as in `2026-11`. */
export function toMonth(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 7);
}
