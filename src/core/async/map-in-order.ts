/**
 * Runs `work` on at most `width` items at a time and yields the results in the order of the items. After a
 * failure no further item is started, and the error is thrown once all running items have ended.
 */
export async function* mapInOrder<Item, Result>(
  items: AsyncIterable<Item>,
  width: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, void> {
  const running: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const result = work(item);
      // The loop learns of a failure when it awaits the result; until then a rejection is not unhandled.
      result.catch(() => {});
      running.push(result);
      if (running.length >= width) yield await running.shift()!;
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    await Promise.allSettled(running);
  }
}
