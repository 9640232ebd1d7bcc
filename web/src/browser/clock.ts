import { signal } from '@preact/signals';

/** The one place that asks what time it is. Milliseconds since 1970. */
export function now(): number {
  return Date.now();
}

const updateMs = 20_000;

/** Moves on three times a minute, for what says how long ago something was. */
export const recentNow = signal(now());

setInterval(() => {
  recentNow.value = now();
}, updateMs);
