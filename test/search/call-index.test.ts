import t from 'tap';
import { IndexError } from '../../src/index/collection-index.ts';
import { callIndex } from '../../src/search/call-index.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';

t.test('transient index errors become 503, thrown or rejected', async (t) => {
  for (const code of ['busy', 'deadline', 'damaged', 'memory', 'io'] as const) {
    const fail = () => {
      throw new IndexError(code, 'a trouble');
    };
    const status = { code: 'unavailable', status: 503 };
    t.throws(() => callIndex(cancellationTokenWith(), fail), status, code);
    await t.rejects(Promise.resolve(callIndex(cancellationTokenWith(), async () => fail())), status, code);
  }
  const wrong = new IndexError('invalid', 'our own mistake');
  await t.rejects(Promise.resolve(callIndex(cancellationTokenWith(), () => Promise.reject(wrong))), wrong);
});
