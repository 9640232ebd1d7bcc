/** The one place that asks what time it is. Milliseconds since 1970. */
export function now(): number {
  return Date.now();
}
