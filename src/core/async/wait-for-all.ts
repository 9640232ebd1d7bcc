/** Rejects as the first of the list that did, once none of them runs any more. */
export async function waitForAll(running: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(running);
  await Promise.all(running);
}
