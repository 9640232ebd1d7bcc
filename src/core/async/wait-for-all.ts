/** Waits until all promises are settled, then rejects with the first rejection in list order, if any. */
export async function waitForAll(running: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(running);
  await Promise.all(running);
}
