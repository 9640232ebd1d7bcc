import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { ByteGate } from '../../src/pipeline/byte-gate.ts';

/** Work that ends when it is told to. */
function work() {
  let end = () => {};
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end };
}

t.test(
  'no more bytes than the bound are worked on, the largest goes alone, and turns are kept',
  async (t) => {
    const gate = new ByteGate(100);
    const begun: string[] = [];
    const enter = (name: string, bytes: number) => {
      const { promise, end } = work();
      const done = gate.run(bytes, () => {
        begun.push(name);
        return promise;
      });
      return { done, end };
    };
    const first = enter('first', 60);
    const second = enter('second', 40);
    const huge = enter('huge', 500);
    const small = enter('small', 1);
    await turn();
    t.same(begun, ['first', 'second'], 'the small one does not overtake');
    first.end();
    await first.done;
    await turn();
    t.same(begun, ['first', 'second']);
    second.end();
    await second.done;
    await turn();
    t.same(begun, ['first', 'second', 'huge']);
    huge.end();
    await huge.done;
    small.end();
    await small.done;
    t.same(begun, ['first', 'second', 'huge', 'small']);
  },
);

t.test('work that fails gives its room back', async (t) => {
  const gate = new ByteGate(10);
  await t.rejects(
    gate.run(10, () => Promise.reject(new Error('no'))),
    /no/,
  );
  t.equal(await gate.run(10, async () => 'yes'), 'yes');
});
