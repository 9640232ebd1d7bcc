/** Time limit of one test file: far more than a slow, loaded machine needs, so that only a hang reaches it. */
export const testFileMsMax = 1_200_000;

/** Time limit for an event: on a loaded machine, a late event is not a failure. */
export const testEventMsMax = 180_000;

/**
 * Pause in milliseconds between two checks of an event: a tenth of the time waited, from `pauseMsMin` to 100. A check often
 * costs a request, and a test may wait half a minute.
 */
export function checkPauseMs(waitedMs: number, pauseMsMin: number): number {
  return Math.max(pauseMsMin, Math.min(100, waitedMs / 10));
}

/** Waits until `holds` returns true; throws with `what` after `testEventMsMax`. `everyMs`: shortest pause. */
export async function waitUntil(
  what: string,
  holds: () => boolean | Promise<boolean>,
  everyMs = 10,
): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > testEventMsMax) throw new Error(`${what} did not happen within ${testEventMsMax} ms`);
    await new Promise((resolve) => setTimeout(resolve, checkPauseMs(waitedMs, everyMs)));
  }
}
