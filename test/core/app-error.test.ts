import { AppError } from '../../src/core/app-error.ts';
import t from '../support/tap.ts';

const frames = ({ stack }: Error) => stack?.match(/^\s+at /gm)?.length ?? 0;

t.test('rejections under load capture no stack, other errors do', async (t) => {
  const { stackTraceLimit } = Error;
  for (const code of ['rate_limited', 'queue_full', 'reserve_reached', 'unavailable'] as const) {
    const rejection = new AppError(code, 'Too many requests. Retry later.');
    t.equal(frames(rejection), 0, code);
    t.match(rejection, { message: 'Too many requests. Retry later.', code });
  }
  t.equal(Error.stackTraceLimit, stackTraceLimit);
  t.ok(frames(new AppError('conflict', 'The document already exists.')) > 0);
  const cause = new Error('disk full');
  t.ok(frames(new AppError('unavailable', 'Retry later.', { cause }).cause as Error) > 0);
});
