import { AppError } from '../../src/core/app-error.ts';
import {
  type Entry,
  ExpectationFailedError,
  type FreeSpaceCheck,
  type RangeOptions,
  readCounters,
  type Store,
  type WriteOperation,
} from '../../src/storage/store.ts';
import t, { type Test } from '../support/tap.ts';

export interface StoreUnderTest {
  readonly name: string;
  open(options?: { pendingBytesMax?: number; space?: FreeSpaceCheck }): Promise<Store>;
}

export const bytes = (value: string): Uint8Array => Buffer.from(value);
export const putOperation = (key: string, value: string): WriteOperation => ({
  type: 'put',
  key: bytes(key),
  value: bytes(value),
});
export const deleteOperation = (key: string): WriteOperation => ({ type: 'delete', key: bytes(key) });
const addOperation = (key: string, ...amounts: number[]): WriteOperation => ({
  type: 'add',
  key: bytes(key),
  amounts,
});
const expectAbsent = (key: string): WriteOperation => ({
  type: 'expect',
  key: bytes(key),
  holds: (value) => value === undefined,
  description: `${key} is free`,
});

export function textAt(store: Store, key: string): string | undefined {
  const value = store.get(bytes(key));
  return value === undefined ? undefined : Buffer.from(value).toString();
}

async function keysOf(entries: AsyncIterable<Entry>): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of entries) keys.push(Buffer.from(key).toString());
  return keys;
}

function codeOf(error: unknown): string {
  return error instanceof AppError ? error.code : String(error);
}

async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'resolved',
    (error: unknown) => error,
  );
}

/** Contract of all stores. The test of each implementation runs the whole suite. */
export function storeContract(implementation: StoreUnderTest): void {
  const test = (title: string, check: (store: Store, t: Test) => Promise<void>) =>
    t.test(`${implementation.name}: ${title}`, async (t) => {
      const store = await implementation.open();
      t.teardown(() => store.close());
      await check(store, t);
    });

  writeContract(test);
  commitContract(test);
  rangeContract(test);
  conditionContract(test);
  counterContract(test);
  rejectionContract(implementation);
  fairShareContract(implementation);
  closeContract(implementation);
}

type DefineTest = (title: string, check: (store: Store, t: Test) => Promise<void>) => unknown;

function writeContract(test: DefineTest): void {
  test('an acknowledged write is read back, a deleted key does not exist', async (store, t) => {
    await store.write([putOperation('a', '1'), putOperation('b', '2')]);
    await store.write([deleteOperation('a'), putOperation('c', '')]);
    t.equal(textAt(store, 'a'), undefined);
    t.equal(textAt(store, 'b'), '2');
    t.equal(textAt(store, 'c'), '');
    t.same(
      store.getMany([bytes('c'), bytes('a'), bytes('b')]).map((value) => value?.byteLength),
      [0, undefined, 1],
    );
    t.same(store.getMany([]), []);
  });

  test('the revision grows before a changing write is acknowledged', async (store, t) => {
    const observed: [before: number, after: number][] = [];
    const write = async (operations: WriteOperation[]) => {
      const table = operations[0]!.key[0]!;
      const before = store.revisionOf(table);
      await store.write(operations).catch(() => {});
      observed.push([before, store.revisionOf(table)]);
    };
    await write([putOperation('a', '1')]);
    await write([deleteOperation('a')]);
    await write([addOperation('counter', 1)]);
    for (const [before, after] of observed) t.ok(after > before, `${before} to ${after}`);
    const tables = ['a', 'c', 'z'].map((text) => bytes(text)[0]!);
    const before = tables.map((table) => store.revisionOf(table));
    store.get(bytes('a'));
    t.same(
      tables.map((table) => store.revisionOf(table)),
      before,
      'reads change no revision',
    );
    await write([putOperation('z', '1')]);
    t.same(
      tables.slice(0, 2).map((table) => store.revisionOf(table)),
      before.slice(0, 2),
      'a write changes no revision of other tables',
    );
  });
}

function commitContract(test: DefineTest): void {
  test('operations of one write apply in their order', async (store, t) => {
    await store.write([
      putOperation('a', '1'),
      deleteOperation('a'),
      putOperation('b', '1'),
      putOperation('b', '2'),
    ]);
    t.same([textAt(store, 'a'), textAt(store, 'b')], [undefined, '2']);
  });

  test('concurrent writes are acknowledged and applied in the order of the calls', async (store, t) => {
    const acknowledged: number[] = [];
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        store
          .write([putOperation('last', String(index)), putOperation(`k${index}`, 'x')])
          .then(() => acknowledged.push(index)),
      ),
    );
    t.same(
      acknowledged,
      Array.from({ length: 200 }, (_, index) => index),
    );
    t.equal(textAt(store, 'last'), '199');
    const { commits, committedWrites, pendingBytes } = store.statistics();
    t.equal(committedWrites, 200);
    t.ok(commits < 200, 'concurrent writes share commits');
    t.equal(pendingBytes, 0);
  });

  test('an empty write resolves after all previous writes', async (store, t) => {
    let before = false;
    const first = store.write([putOperation('a', '1')]).then(() => {
      before = true;
    });
    await store.write([]);
    t.ok(before);
    await first;
  });
}

function rangeContract(test: DefineTest): void {
  const cases: [RangeOptions, string[]][] = [
    [{}, ['a', 'a\0', 'b', 'c', 'ÿ']],
    [{ gt: bytes('a') }, ['a\0', 'b', 'c', 'ÿ']],
    [{ gte: bytes('a\0'), lt: bytes('c') }, ['a\0', 'b']],
    [{ gt: bytes('a'), lte: bytes('c') }, ['a\0', 'b', 'c']],
    [{ lte: bytes('c'), reverse: true, limit: 2 }, ['c', 'b']],
    [{ limit: 1 }, ['a']],
    [{ limit: 0 }, []],
    [{ gte: bytes('c'), lt: bytes('b') }, []],
    [{ gt: bytes('ÿ') }, []],
    [{ reverse: true }, ['ÿ', 'c', 'b', 'a\0', 'a']],
  ];
  test('ranges contain exactly the keys between their bounds, in byte order', async (store, t) => {
    await store.write(['c', 'a', 'ÿ', 'b', 'a\0'].map((key) => putOperation(key, key)));
    for (const [options, expected] of cases) {
      t.same(await keysOf(store.range(options)), expected, JSON.stringify(options));
    }
    for await (const { key, value } of store.range({})) t.same(Buffer.from(value), Buffer.from(key));
    for await (const { value } of store.range({ values: false })) t.equal(value.byteLength, 0);
  });

  test('a range reads one snapshot, regardless of concurrent writes', async (store, t) => {
    const names = Array.from({ length: 1000 }, (_, index) => `k${String(index).padStart(4, '0')}`);
    await store.write(names.map((name) => putOperation(name, 'old')));
    const observed: string[] = [];
    let changed = false;
    for await (const { key, value } of store.range({})) {
      observed.push(Buffer.from(key).toString());
      t.equal(Buffer.from(value).toString(), 'old');
      if (changed) continue;
      changed = true;
      await store.write([
        putOperation('k0000a', 'new'),
        deleteOperation('k0999'),
        putOperation('k0998', 'new'),
      ]);
    }
    t.same(observed, names);
    t.equal(textAt(store, 'k0998'), 'new');
  });

  test('a range can be ended early', async (store, t) => {
    await store.write(Array.from({ length: 600 }, (_, index) => putOperation(`k${index}`, 'v')));
    let count = 0;
    for await (const _ of store.range({})) {
      count += 1;
      if (count === 3) break;
    }
    t.equal(count, 3);
  });
}

function conditionContract(test: DefineTest): void {
  test('of many writers that each expect a free key exactly one succeeds', async (store, t) => {
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        store.write([expectAbsent('key'), putOperation('key', String(index))]),
      ),
    );
    t.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
    t.equal(textAt(store, 'key'), '0');
    t.match(
      await rejectionOf(store.write([expectAbsent('key'), putOperation('other', 'x')])),
      ExpectationFailedError,
    );
    t.equal(textAt(store, 'other'), undefined);
  });

  test('an expectation includes the writes and deletions queued before it', async (store, t) => {
    const firstWrite = store.write([putOperation('key', '1')]);
    const freed = store.write([deleteOperation('key')]);
    const again = store.write([expectAbsent('key'), putOperation('key', '2')]);
    await Promise.all([firstWrite, freed, again]);
    t.equal(textAt(store, 'key'), '2');
  });
}

function counterContract(test: DefineTest): void {
  test('additions of concurrent writers add up exactly', async (store, t) => {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        store.write([addOperation('n', 1, index), putOperation(`k${index}`, 'x')]),
      ),
    );
    await store.write([addOperation('n', -10, 0, 5)]);
    t.same(readCounters(store.get(bytes('n')), 3), [90, 4950, 5]);
    await store.write([deleteOperation('n'), addOperation('n', 2)]);
    t.same(readCounters(store.get(bytes('n')), 1), [2]);
    t.same(readCounters(undefined, 2), [0, 0]);
  });

  test('additions count from the last write to their key, also in one group', async (store, t) => {
    const total = (key: string) => readCounters(store.get(bytes(key)), 2);
    await store.write([addOperation('m', 3), addOperation('n', 3)]);
    const observed: boolean[] = [];
    const expectValue = (expectedValue: number): WriteOperation => ({
      type: 'expect',
      key: bytes('n'),
      description: `n is ${expectedValue}`,
      holds: (value) => observed.push(readCounters(value, 1)[0] === expectedValue) > 0,
    });
    await Promise.all([
      store.write([addOperation('n', 1), addOperation('m', 1, 1)]),
      store.write([expectValue(4), deleteOperation('n'), putOperation('other', 'x')]),
      store.write([expectValue(0), addOperation('n', 5), addOperation('m', 1)]),
      store.write([expectValue(5), addOperation('n', 1), addOperation('n', 1, 7)]),
    ]);
    t.same(
      [total('n'), total('m')],
      [
        [7, 7],
        [5, 1],
      ],
    );
    t.same(observed, [true, true, true]);
    await Promise.all([
      store.write([addOperation('n', 1)]),
      store.write([addOperation('n', 1), deleteOperation('n')]),
    ]);
    t.equal(store.get(bytes('n')), undefined);
  });

  test('a rejected write adds nothing', async (store, t) => {
    await store.write([putOperation('key', '1')]);
    await rejectionOf(store.write([addOperation('n', 1), expectAbsent('key')]));
    t.equal(store.get(bytes('n')), undefined);
  });
}

function fairShareContract({ name, open }: StoreUnderTest): void {
  t.test(`${name}: a full queue still accepts the writes of other organizations`, async (t) => {
    const store = await open({ pendingBytesMax: 1000 });
    t.teardown(() => store.close());
    const outcomes = await Promise.allSettled(
      [...'aaaaabab'].map((organizationId, i) =>
        store.write([putOperation(`key ${i}`, 'x'.repeat(200))], { organizationId }),
      ),
    );
    t.same(
      outcomes.map(({ status }) => status === 'fulfilled'),
      [true, true, true, true, false, true, false, false],
      'one organization fills the queue, another one has a share beyond it',
    );
    await store.write([putOperation('after', 'x')], { organizationId: 'a' });
    t.equal(textAt(store, 'after'), 'x', 'the bytes of finished writes are not counted');
  });
}

function rejectionContract(implementation: StoreUnderTest): void {
  t.test(
    `${implementation.name}: too many waiting bytes are rejected with queue_full, and later writes succeed`,
    async (t) => {
      const store = await implementation.open({ pendingBytesMax: 1000 });
      t.teardown(() => store.close());
      const large = store.write([putOperation('large', 'x'.repeat(5000))]);
      const refused = await rejectionOf(store.write([putOperation('b', 'x')]));
      t.equal(codeOf(refused), 'queue_full');
      await store.write([putOperation('c', 'y')], { mayExceedQueue: true });
      t.equal(textAt(store, 'c'), 'y', 'a write with mayExceedQueue is queued');
      t.ok(((refused as AppError).options.retryAfterMs ?? 0) > 0);
      await large;
      await store.write([putOperation('b', 'y')]);
      t.equal(textAt(store, 'b'), 'y');
    },
  );

  t.test(
    `${implementation.name}: writes with mayExceedQueue do not reduce the queue of other writes`,
    async (t) => {
      const store = await implementation.open({ pendingBytesMax: 1000 });
      t.teardown(() => store.close());
      const background = store.write([putOperation('large', 'x'.repeat(5000))], { mayExceedQueue: true });
      await store.write([putOperation('a', 'x')]);
      t.equal(textAt(store, 'a'), 'x');
      await background;
    },
  );

  t.test(
    `${implementation.name}: below the free-space reserve only work that frees space is written`,
    async (t) => {
      let low = false;
      const check = () => {
        if (low) throw new AppError('reserve_reached', 'The disk is nearly full.');
      };
      const store = await implementation.open({ space: { check } });
      t.teardown(() => store.close());
      await store.write([putOperation('a', '1')]);
      low = true;
      t.equal(codeOf(await rejectionOf(store.write([putOperation('b', '1')]))), 'reserve_reached');
      t.equal(textAt(store, 'a'), '1', 'reads continue');
      await store.write([deleteOperation('a')], { mayUseReserve: true });
      t.equal(textAt(store, 'a'), undefined);
      low = false;
      await store.write([putOperation('b', '2')]);
      t.equal(textAt(store, 'b'), '2');
    },
  );
}

function closeContract(implementation: StoreUnderTest): void {
  t.test(`${implementation.name}: closing completes accepted writes and rejects later calls`, async (t) => {
    const store = await implementation.open();
    await store.write([putOperation('a', '1')]);
    const reader = store.range({});
    await reader.next();
    const accepted = store.write([putOperation('b', '2')]);
    const closing = store.close();
    const late = store.write([putOperation('c', '3')]);
    t.equal(codeOf(await rejectionOf(late)), 'unavailable');
    await accepted;
    await Promise.all([closing, store.close()]);
    await store.close();
    t.throws(() => store.get(bytes('a')), { code: 'unavailable' });
    t.throws(() => store.getMany([bytes('a')]), { code: 'unavailable' });
    t.equal(codeOf(await rejectionOf(store.range({}).next())), 'unavailable');
    t.equal(codeOf(await rejectionOf(store.write([]))), 'unavailable');
    t.type(store.statistics().pendingBytes, 'number');
  });

  t.test(`${implementation.name}: closing in the middle of a range ends it with unavailable`, async (t) => {
    const store = await implementation.open();
    await store.write(Array.from({ length: 2000 }, (_, index) => putOperation(`k${index}`, 'v')));
    const read = async () => {
      for await (const { key } of store.range({}))
        if (Buffer.from(key).toString() === 'k0') void store.close();
    };
    t.equal(codeOf(await rejectionOf(read())), 'unavailable');
    await store.close();
  });
}
