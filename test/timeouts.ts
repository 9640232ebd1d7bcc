/** How long one test file may take: far beyond what a slow and busy machine needs, so that only a hang reaches it. */
export const testFileMsMax = 1_200_000;

/** How long a test waits for an event before it fails: an event that is late on a busy machine is not missing. */
export const testEventMsMax = 180_000;

/** Waits until `holds` answers true; fails with `what` when it never does. */
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
