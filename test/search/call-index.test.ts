import { IndexError } from '../../src/index/collection-index.ts';
import { callIndex } from '../../src/search/call-index.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

t.test('transient index errors become 503', async (t) => {
  for (const code of ['busy', 'deadline', 'damaged', 'memory', 'io'] as const) {
    const fail = () => {
      throw new IndexError(code, 'an error');
    };
    const status = { code: 'unavailable', status: 503 };
    await t.rejects(callIndex(cancellationTokenWith(), fail), status, `${code}, thrown`);
    await t.rejects(
      callIndex(cancellationTokenWith(), async () => fail()),
      status,
      `${code}, rejected`,
    );
  }
  const wrong = new IndexError('invalid', 'an internal error');
  await t.rejects(
    callIndex(cancellationTokenWith(), () => Promise.reject(wrong)),
    wrong,
  );
});
