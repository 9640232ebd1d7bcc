/** Time limit of one test file: far more than a slow, loaded machine needs, so that only a hang reaches it. */
export const testFileMsMax = 1_200_000;

/** Time limit for an event: on a loaded machine, a late event is not a failure. */
export const testEventMsMax = 180_000;

/** Waits until `holds` returns true; throws with `what` after `testEventMsMax`. */
export async function waitUntil(
  what: string,
  holds: () => boolean | Promise<boolean>,
  everyMs = 10,
): Promise<void> {
  const deadline = performance.now() + testEventMsMax;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${testEventMsMax} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
