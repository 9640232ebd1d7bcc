import { BackgroundScheduler } from '../../src/core/async/background-scheduler.ts';
import { limits } from '../../src/core/limits.ts';
import type { PlainOperation } from '../../src/storage/evaluate-group.ts';
import { GroupCommit } from '../../src/storage/group-commit.ts';
import { readCounters } from '../../src/storage/store.ts';
import t from '../support/tap.ts';
import { putOperation } from './store-contract.ts';

interface Commit {
  readonly keys: string[];
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Scheduler whose clock ends a turn of the event loop after two callers. */
function newTurns(): BackgroundScheduler {
  let now = 0;
  return new BackgroundScheduler({ monotonic: () => (now += limits.backgroundSliceMsMax / 2) });
}
const callersPerTurn = 2;

/** Commits that end when the test resolves them. */
function manual(groupBytesMax = 1_000): { commits: Commit[]; group: GroupCommit } {
  const commits: Commit[] = [];
  const commit = (operations: readonly PlainOperation[]) =>
    new Promise<void>((resolve, reject) => {
      commits.push({ keys: operations.map(({ key }) => Buffer.from(key).toString()), resolve, reject });
    });
  return {
    commits,
    group: new GroupCommit({
      getMany: () => [],
      commit,
      groupBytesMax,
      pendingBytesMax: 10_000,
      backgroundScheduler: newTurns(),
    }),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Waits until `count` commits have started; returns the number of event loop turns. */
async function begun(commits: readonly Commit[], count: number): Promise<number> {
  let turns = 0;
  for (; commits.length < count; turns += 1) await turn();
  return turns;
}

t.test('writes that arrive during a commit form the next group, in order', async (t) => {
  const { commits, group } = manual();
  const writes = [group.write([putOperation('a', '')])];
  await turn();
  writes.push(group.write([putOperation('b', '')]), group.write([putOperation('c', '')]));
  await turn();
  t.same(
    commits.map(({ keys }) => keys),
    [['a']],
    'one commit at a time',
  );
  commits[0]?.resolve();
  await begun(commits, 2);
  t.same(commits[1]?.keys, ['b', 'c']);
  commits[1]?.resolve();
  await Promise.all(writes);
  t.equal(group.statistics.pendingBytes, 0);
});

t.test('a group stays below its limit, and a larger write forms its own group', async (t) => {
  const { commits, group } = manual(100);
  const sizes = [30, 30, 30, 500, 10];
  const writes = Promise.all(
    sizes.map((size, index) => group.write([putOperation(String(index), 'x'.repeat(size))])),
  );
  for (let round = 0; round < 4; round += 1) {
    await begun(commits, round + 1);
    commits[round]?.resolve();
  }
  await writes;
  t.same(
    commits.map(({ keys }) => keys),
    [['0', '1'], ['2'], ['3'], ['4']],
  );
});

t.test('a large group is prepared in time slices, in order', async (t) => {
  const { commits, group } = manual(10_000);
  const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`);
  const writes = keys.map((key) => group.write([putOperation(key, '')]));
  t.ok((await begun(commits, 1)) > 3, 'the event loop continued meanwhile');
  t.same(commits[0]?.keys, keys);
  commits[0]?.resolve();
  await Promise.all(writes);
});

t.test('writes queued behind a failed commit fail with it, later ones are attempted', async (t) => {
  const { commits, group } = manual();
  const first = group.write([putOperation('a', '')]);
  await turn();
  const behind = group.write([putOperation('b', '')]);
  commits[0]?.reject(new Error('disk'));
  await t.rejects(first, { message: 'disk' });
  await t.rejects(behind, { message: 'disk' });
  const later = group.write([putOperation('c', '')]);
  await turn();
  commits[1]?.resolve();
  await later;
  t.same(
    commits.map(({ keys }) => keys),
    [['a'], ['c']],
  );
  t.match(group.statistics, {
    commits: 1,
    committedWrites: 1,
    failedCommits: 1,
    pendingWrites: 0,
    pendingBytes: 0,
  });
});

t.test('a write that cannot be evaluated leaves no trace in its group', async (t) => {
  const stored = new Map<string, Uint8Array>();
  const keyOf = (key: Uint8Array) => Buffer.from(key).toString();
  const group = new GroupCommit({
    getMany: (keys) =>
      keys.map((key) => {
        if (keyOf(key) === 'broken') throw new Error('a damaged block');
        return stored.get(keyOf(key));
      }),
    async commit(operations) {
      for (const operation of operations)
        if (operation.type === 'put') stored.set(keyOf(operation.key), operation.value);
    },
    pendingBytesMax: 1_000,
    groupBytesMax: 1_000,
    backgroundScheduler: newTurns(),
  });
  const add = (key: string) => ({ type: 'add' as const, key: Buffer.from(key), amounts: [1] });
  const [broken, sound] = await Promise.allSettled([
    group.write([add('count'), add('broken')]),
    group.write([add('count')]),
  ]);
  t.match(broken, { status: 'rejected', reason: { message: 'a damaged block' } });
  t.match(sound, { status: 'fulfilled' });
  t.same(readCounters(stored.get('count'), 1), [1], 'only the valid write was counted');
});

t.test(
  'callers of a large group are notified in batches, in order, without blocking the event loop',
  async (t) => {
    const { commits, group } = manual(10_000);
    const notified: number[] = [];
    const count = 3 * callersPerTurn + 1;
    const writes = Array.from({ length: count }, (_, i) =>
      group.write([putOperation(String(i), '')]).then(() => notified.push(i)),
    );
    await begun(commits, 1);
    commits[0]?.resolve();
    const counts: number[] = [];
    for (let round = 0; notified.length < count && round < count; round += 1) {
      await turn();
      counts.push(notified.length);
    }
    await Promise.all(writes);
    t.same(
      notified,
      writes.map((_, i) => i),
    );
    t.ok(
      counts.every((notified, round) => notified - (counts[round - 1] ?? 0) <= 2 * callersPerTurn),
      `notified after each turn: ${counts}`,
    );
    t.ok(counts.length > 1, 'not all in one turn');
  },
);

t.test(
  'the next commit starts before all callers of the last are notified, and close notifies all',
  async (t) => {
    const { commits, group } = manual(10_000);
    const notified: string[] = [];
    const count = 4 * callersPerTurn;
    const first = Array.from({ length: count }, (_, i) =>
      group.write([putOperation(String(i), '')]).then(() => notified.push('first')),
    );
    await begun(commits, 1);
    const second = group.write([putOperation('later', '')]).then(() => notified.push('second'));
    commits[0]?.resolve();
    await turn();
    t.equal(commits.length, 2);
    t.ok(notified.length < count);
    commits[1]?.resolve();
    await group.close();
    await Promise.all([...first, second]);
    t.same(notified, [...first.map(() => 'first'), 'second']);
  },
);
