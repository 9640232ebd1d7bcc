/** `1 second`, `2 seconds`; `noun` takes an s. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A time to wait, rounded up: in seconds, from two minutes on in minutes. */
export function formatWait(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  return seconds < 120 ? formatCount(seconds, 'second') : formatCount(Math.ceil(seconds / 60), 'minute');
}
