import { UploadLimiter } from '../../src/admission/upload-limiter.ts';
import t from '../support/tap.ts';

function build(capacity: number) {
  let now = 0;
  const limiter = new UploadLimiter(capacity, { monotonic: () => now });
  const ended: string[] = [];
  const startUpload = (owner: string) =>
    limiter.acquire(owner, (error) => ended.push(`${owner}: ${error.message.slice(0, 19)}`));
  return { limiter, startUpload, ended, passes: (ms: number) => (now += ms) };
}

t.test('the uploads of one organization leave slots for others', async (t) => {
  const { limiter, startUpload, ended } = build(16);
  for (let i = 0; i < 16; i += 1) startUpload('slow');
  t.throws(() => startUpload('slow'), {
    code: 'unavailable',
    options: { headers: { 'x-quarry-limit': 'uploads-running' } },
  });
  t.doesNotThrow(() => startUpload('other'));
  t.equal(limiter.running, 17);
  t.same(ended, []);
});

t.test(
  'when all shares are used, the most idle upload of the organization with the most uploads is ended',
  async (t) => {
    const { limiter, startUpload, ended, passes: advance } = build(4);
    const slow = [startUpload('slow'), startUpload('slow'), startUpload('slow'), startUpload('slow')];
    t.doesNotThrow(() => startUpload('guest'), 'each organization has one of the reserve');
    t.throws(() => startUpload('guest'), /Too many concurrent uploads/, 'the upload is active');
    advance(500);
    slow[0]?.touch();
    advance(700);
    t.doesNotThrow(() => startUpload('guest'));
    t.same(ended, ['slow: The upload was idle']);
    t.throws(
      () => startUpload('slow'),
      /Too many concurrent uploads/,
      'an organization with more uploads does not displace one with fewer',
    );
    t.equal(limiter.running, 5);
    slow[1]?.release();
    slow[1]?.release();
    t.equal(limiter.running, 5, 'the ended upload was already released, and a release counts once');
  },
);

t.test('ended uploads are no longer counted', async (t) => {
  const { limiter, startUpload } = build(2);
  for (let i = 0; i < 10; i += 1) startUpload('a').release();
  t.equal(limiter.running, 0);
});
