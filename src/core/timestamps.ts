/** Formats milliseconds since the epoch as replies show them: `2026-03-31T09:00:00.000Z`. */
export function toTimestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Same as `toTimestamp`, but null for no time. */
export function toOptionalTimestamp(milliseconds: number | null | undefined): string | null {
  return milliseconds === null || milliseconds === undefined ? null : toTimestamp(milliseconds);
}
