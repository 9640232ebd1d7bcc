import t from 'tap';
import { UploadLimiter } from '../../src/admission/upload-limiter.ts';

function build(capacity: number) {
  let now = 0;
  const limiter = new UploadLimiter(capacity, { monotonic: () => now });
  const ended: string[] = [];
  const begin = (owner: string) =>
    limiter.acquire(owner, (error) => ended.push(`${owner}: ${error.message.slice(0, 19)}`));
  return { limiter, begin, ended, passes: (ms: number) => (now += ms) };
}

t.test('the uploads of one organization leave room for those of others', async (t) => {
  const { limiter, begin, ended } = build(16);
  for (let i = 0; i < 16; i += 1) begin('slow');
  t.throws(() => begin('slow'), {
    code: 'unavailable',
    options: { headers: { 'x-quarry-limit': 'uploads-running' } },
  });
  t.doesNotThrow(() => begin('other'));
  t.equal(limiter.running, 17);
  t.same(ended, []);
});

t.test('when all shares are taken, the most idle upload of who holds most gives way', async (t) => {
  const { limiter, begin, ended, passes } = build(4);
  const slow = [begin('slow'), begin('slow'), begin('slow'), begin('slow')];
  t.doesNotThrow(() => begin('guest'), 'each organization has one of the reserve');
  t.throws(() => begin('guest'), /as many uploads/, 'bytes arrived just now');
  passes(500);
  slow[0]?.touch();
  passes(700);
  t.doesNotThrow(() => begin('guest'));
  t.same(ended, ['slow: The upload was idle']);
  t.throws(() => begin('slow'), /as many uploads/, 'who holds more gets nothing of who holds less');
  t.equal(limiter.running, 5);
  slow[1]?.release();
  slow[1]?.release();
  t.equal(limiter.running, 5, 'it had given way already, and a release counts once');
});

t.test('what ended is not counted anymore', async (t) => {
  const { limiter, begin } = build(2);
  for (let i = 0; i < 10; i += 1) begin('a').release();
  t.equal(limiter.running, 0);
});
