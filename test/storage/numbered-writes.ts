import { readCounters, type Store, type WriteOperation } from '../../src/storage/store.ts';
import type { Test } from '../support/tap.ts';

const bytesOf = (number: number) => Buffer.alloc(10 + (number % 5) * 3000, number % 251);

/** Write of a number: puts two keys that belong together and increments a counter in a third. */
export function numberedWrite(number: number): WriteOperation[] {
  const value = bytesOf(number);
  return [
    { type: 'put', key: Buffer.from(`left ${number}`), value },
    { type: 'put', key: Buffer.from(`right ${number}`), value },
    { type: 'add', key: Buffer.from('total'), amounts: [1] },
  ];
}

/** Checks that the writes of these numbers exist, and that each write exists completely. Returns their count. */
export async function checkNumberedWrites(
  t: Test,
  store: Store,
  acknowledged: readonly number[],
): Promise<number> {
  const missing = acknowledged.filter((number) => {
    const values = store.getMany([Buffer.from(`left ${number}`), Buffer.from(`right ${number}`)]);
    return values.some((value) => value === undefined || !bytesOf(number).equals(value));
  });
  t.same(missing, [], `all ${acknowledged.length} acknowledged writes exist`);
  let pairs = 0;
  for await (const { key } of store.range({ gte: Buffer.from('left '), lt: Buffer.from('left!') })) {
    const partner = Buffer.from(`right${Buffer.from(key).toString().slice(4)}`);
    if (store.get(partner) === undefined) t.fail(`${Buffer.from(key).toString()} has lost its pair`);
    pairs += 1;
  }
  t.equal(readCounters(store.get(Buffer.from('total')), 1)[0], pairs, 'the count is exact');
  t.ok(pairs >= acknowledged.length);
  return pairs;
}
