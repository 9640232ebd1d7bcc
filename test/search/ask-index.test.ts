import t from 'tap';
import { IndexError } from '../../src/engine/collection-index.ts';
import { askIndex } from '../../src/search/ask-index.ts';
import { callerWith } from '../base/caller.ts';

t.test('troubles of the index that end by themselves are 503, at once or later', async (t) => {
  for (const code of ['busy', 'deadline', 'damaged', 'memory', 'io'] as const) {
    const fail = () => {
      throw new IndexError(code, 'a trouble');
    };
    const status = { code: 'unavailable', status: 503 };
    t.throws(() => askIndex(callerWith(), fail), status, code);
    await t.rejects(Promise.resolve(askIndex(callerWith(), async () => fail())), status, code);
  }
  const wrong = new IndexError('invalid', 'our own mistake');
  await t.rejects(Promise.resolve(askIndex(callerWith(), () => Promise.reject(wrong))), wrong);
});
