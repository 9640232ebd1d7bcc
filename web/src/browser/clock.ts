import { signal } from '@preact/signals';

/** Current time in milliseconds since the epoch. All code that reads the clock uses this function. */
export function now(): number {
  return Date.now();
}

const updateMs = 20_000;

/** Current time, updated three times a minute, for relative times. */
export const recentNow = signal(now());

setInterval(() => {
  recentNow.value = now();
}, updateMs);
