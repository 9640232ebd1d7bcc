import { encodeCounters, readCounters, type WriteOperation } from '../../src/storage/store.ts';
import t from '../support/tap.ts';
import { bytes, deleteOperation, putOperation, type StoreUnderTest, textAt } from './store-contract.ts';

const append = (text: string): WriteOperation => ({
  type: 'append',
  key: bytes('n'),
  entry: (number) => ({ key: bytes(`entry ${number}`), value: bytes(text) }),
});
const openCounter = (value: number): WriteOperation => ({
  type: 'put',
  key: bytes('n'),
  value: encodeCounters([value]),
});
const rejected: WriteOperation = {
  type: 'expect',
  key: bytes('n'),
  holds: () => false,
  description: 'never',
};

/** Contract of `append`, which numbers entries. The test of each store runs it. */
export function appendContract({ name, open }: StoreUnderTest): void {
  t.test(`${name}: appended entries have numbers without gaps in the order of the writes`, async (t) => {
    const store = await open();
    t.teardown(() => store.close());
    const counter = () => readCounters(store.get(bytes('n')), 1)[0];
    await store.write([append('lost'), putOperation('other', 'x')]);
    t.equal(textAt(store, 'entry 1'), undefined, 'nothing is stored without a counter');
    t.equal(textAt(store, 'other'), 'x');
    t.equal(store.get(bytes('n')), undefined);
    await store.write([openCounter(7)]);
    const outcomes = await Promise.allSettled([
      store.write([append('a'), append('b')]),
      store.write([append('rejected'), rejected]),
      store.write([append('c')]),
      store.write([deleteOperation('n'), append('without a counter')]),
      store.write([append('too late')]),
      store.write([openCounter(20), append('d')]),
    ]);
    t.same(
      outcomes.map(({ status }) => status === 'fulfilled'),
      [true, false, true, true, true, true],
    );
    const found: string[][] = [];
    for await (const { key, value } of store.range({ gte: bytes('entry '), lt: bytes('entry~') }))
      found.push([Buffer.from(key).toString(), Buffer.from(value).toString()]);
    t.same(found, [
      ['entry 10', 'c'],
      ['entry 21', 'd'],
      ['entry 8', 'a'],
      ['entry 9', 'b'],
    ]);
    t.equal(counter(), 21);
  });
}
