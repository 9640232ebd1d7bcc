import { ModelAdmission, type ModelCallRequest } from '../../src/admission/model-admission.ts';
import type { OrganizationLimits } from '../../src/admission/tiers.ts';
import { AppError } from '../../src/core/app-error.ts';
import t from '../support/tap.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';

const noOthers = {
  requestsPerMinute: null,
  queriesPerMinute: null,
  documentBytesPerMinute: null,
  documentsMax: null,
  storageBytesMax: null,
  ingestDocumentsMax: null,
} as const;
const small: OrganizationLimits = {
  bytesPerMinuteFast: 400,
  bytesPerMinuteSlow: 4_000,
  rerankRequestsPerMinute: 2,
  ...noOthers,
  bytesPerRequestMax: 5_000,
  metadataBytesMax: 65_535,
};
const unlimited: OrganizationLimits = {
  bytesPerMinuteFast: null,
  bytesPerMinuteSlow: null,
  rerankRequestsPerMinute: null,
  ...noOthers,
  bytesPerRequestMax: 5_000_000,
  metadataBytesMax: 65_535,
};

function build(organization: OrganizationLimits, options: { running?: number; waitingBytes?: number } = {}) {
  const time = new FakeClock();
  const admission = new ModelAdmission({
    limitsOf: () => organization,
    clock: time,
    timer: time,
    slowCallsRunningMax: options.running ?? 2,
    slowWaitingBytesMax: options.waitingBytes ?? 1_000_000,
  });
  const call = (chargedBytes: number, more: Partial<ModelCallRequest> = {}): ModelCallRequest => ({
    organizationId: 'one',
    kind: 'embed',
    latency: null,
    signal: new AbortController().signal,
    chargedBytes,
    ...more,
  });
  return { time, admission, call };
}

async function rejectionOf(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => new Error('the call was admitted'),
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw error;
}

/** Current state of a promise, without waiting for it to settle. */
async function stateOf(promise: Promise<{ mode: string }>): Promise<string> {
  await flushPromises();
  const state = promise.then(
    (admitted) => admitted.mode,
    (error: AppError) => String(error.status),
  );
  return Promise.race([state, flushPromises().then(() => 'waiting')]);
}

t.test('without a latency a call runs fast while that fits, then slow, then gets 429', async (t) => {
  const { admission, call } = build(small);
  t.equal((await admission.admit(call(400))).mode, 'fast');
  const slow = await admission.admit(call(4_000));
  t.equal(slow.mode, 'slow');
  const rejection = await rejectionOf(admission.admit(call(3_001)));
  t.equal(rejection.status, 429);
  t.match(rejection.message, /4000 bytes per minute of embed calls with latency "slow"/);
  t.match(rejection.options.headers, { 'x-quarry-limit': 'embed-bytes-slow' });
  t.equal(rejection.options.retryAfterMs, 60_000);
});

t.test(
  'a fast call that does not fit gets 429 with the time and the limit, and never runs slow',
  async (t) => {
    const { time, admission, call } = build(small);
    await admission.admit(call(400, { latency: 'fast' }));
    await time.advance(4_000);
    const rejection = await rejectionOf(admission.admit(call(150, { latency: 'fast' })));
    t.equal(rejection.status, 429);
    t.match(rejection.message, /400 bytes per minute of embed calls with latency "fast"/);
    t.equal(rejection.options.retryAfterMs, 26_000);
    await time.advance(26_000);
    t.equal((await admission.admit(call(150, { latency: 'fast' }))).mode, 'fast');
  },
);

t.test('a slow call runs slow even if fast would fit', async (t) => {
  const { admission, call } = build(small);
  t.equal((await admission.admit(call(10, { latency: 'slow' }))).mode, 'slow');
  t.equal((await admission.admit(call(400, { latency: 'fast' }))).mode, 'fast');
});

t.test('rerank requests over the limit run slow', async (t) => {
  const { admission, call } = build(small);
  const rerank = () => admission.admit(call(10, { kind: 'rerank' }));
  t.same([(await rerank()).mode, (await rerank()).mode, (await rerank()).mode], ['fast', 'fast', 'slow']);
  const rejection = await rejectionOf(admission.admit(call(10, { kind: 'rerank', latency: 'fast' })));
  t.match(rejection.options.headers, { 'x-quarry-limit': 'rerank-requests' });
});

t.test('a slow call waits for the refill that it needs, then starts', async (t) => {
  const { time, admission, call } = build(small);
  (await admission.admit(call(4_000, { latency: 'slow' }))).release();
  const waiting = admission.admit(call(1_500, { latency: 'slow' }));
  t.equal(await stateOf(waiting), 'waiting');
  t.equal(admission.slowQueueDepth, 1);
  await time.advance(29_999);
  t.equal(await stateOf(waiting), 'waiting');
  await time.advance(1);
  t.equal(await stateOf(waiting), 'slow');
  t.equal(admission.slowQueueDepth, 0);
  t.equal(time.timers, 0, 'no timer remains');
});

t.test('the number of concurrent slow calls is bounded; the next starts when one ends', async (t) => {
  const { admission, call } = build(unlimited, { running: 2 });
  const slow = () => admission.admit(call(10, { latency: 'slow' }));
  const first = await slow();
  await slow();
  const third = slow();
  const fourth = slow();
  t.equal(await stateOf(third), 'waiting');
  first.release();
  first.release();
  t.equal(await stateOf(third), 'slow');
  t.equal(await stateOf(fourth), 'waiting', 'a second release has no effect');
  t.equal((await admission.admit(call(10))).mode, 'fast', 'fast calls overtake slow calls');
});

t.test('a call that would wait more than 40 seconds gets 429 and is not charged', async (t) => {
  const { time, admission, call } = build(small, { running: 1 });
  const running = await admission.admit(call(1_000, { latency: 'slow' }));
  const waiting = admission.admit(call(3_000, { latency: 'slow' }));
  await time.advance(39_999);
  t.equal(await stateOf(waiting), 'waiting');
  await time.advance(1);
  const rejection = await rejectionOf(waiting);
  t.equal(rejection.status, 429);
  t.match(rejection.options, { headers: { 'x-quarry-limit': 'slow-queue' }, retryAfterMs: 15_000 });
  running.release();
  t.equal((await admission.admit(call(4_000, { latency: 'slow' }))).mode, 'slow');
});

t.test(
  'a started slow call that waits 40 seconds for a thread gets 429; one with a thread continues',
  async (t) => {
    const { time, admission, call } = build(small);
    const starved = await admission.admit(call(4_000, { latency: 'slow' }));
    const refused = rejectionOf(starved.awaitFirstBatch(new Promise(() => {})));
    await time.advance(40_000);
    t.equal((await refused).status, 429);
    starved.release();
    const served = await admission.admit(call(4_000, { latency: 'slow' }));
    t.equal(await served.awaitFirstBatch(Promise.resolve(7)), 7, 'the rejected call is not charged');
    t.equal(time.timers, 0);
  },
);

t.test('the memory of waiting calls is bounded', async (t) => {
  const { admission, call } = build(unlimited, { running: 1, waitingBytes: 100 });
  const slow = (bytes: number) => admission.admit(call(bytes, { latency: 'slow' }));
  const running = await slow(1_000_000);
  const waiting = slow(30);
  t.match(await rejectionOf(slow(21)), { status: 429 });
  const other = slow(20);
  running.release();
  t.equal(await stateOf(waiting), 'slow');
  t.equal(await stateOf(other), 'waiting');
});

t.test('slow calls of one organization leave waiting bytes for those of others', async (t) => {
  const { admission, call } = build(unlimited, { running: 1, waitingBytes: 100 });
  const slow = (organizationId: string) => admission.admit(call(10, { latency: 'slow', organizationId }));
  await slow('busy');
  const waiting = Array.from({ length: 5 }, () => slow('busy'));
  t.match(await rejectionOf(slow('busy')), { status: 429, message: /^Your organization has too many bytes/ });
  waiting.push(slow('guest'));
  for (const each of waiting) t.equal(await stateOf(each), 'waiting');
});

t.test('a caller that disconnects while waiting releases its place and bytes', async (t) => {
  const { time, admission, call } = build(small);
  (await admission.admit(call(4_000, { latency: 'slow' }))).release();
  const disconnect = new AbortController();
  const waiting = admission.admit(call(3_000 - 1_000, { latency: 'slow', signal: disconnect.signal }));
  await flushPromises();
  disconnect.abort(new AppError('unavailable', 'The client disconnected.'));
  t.equal((await rejectionOf(waiting)).message, 'The client disconnected.');
  t.equal(admission.slowQueueDepth, 0);
  t.equal(time.timers, 0);
  const next = admission.admit(call(1_000, { latency: 'slow' }));
  await time.advance(15_000);
  t.equal(await stateOf(next), 'slow');
});

t.test('a call above the bytes of one request gets 413 before any limit is charged', async (t) => {
  const { admission, call } = build({ ...small, bytesPerRequestMax: 300 });
  const rejection = await rejectionOf(admission.admit(call(301)));
  t.equal(rejection.status, 413);
  t.match(rejection.message, /charged 301 bytes.*limit per call is 300/);
  t.equal((await admission.admit(call(300, { latency: 'fast' }))).mode, 'fast');
  t.equal((await admission.admit(call(100, { latency: 'fast' }))).mode, 'fast');
});

t.test('a call that exceeds every bucket is rejected without a retry', async (t) => {
  const { admission, call } = build(small);
  const rejection = await rejectionOf(admission.admit(call(4_500)));
  t.equal(rejection.status, 429);
  t.equal(rejection.options.shouldRetry, false);
  t.match(rejection.message, /charged 4500 bytes, which exceeds the limit/);
});

t.test('an organization without limits is never rejected for its rate', async (t) => {
  const { admission, call } = build(unlimited);
  for (let i = 0; i < 50; i += 1) {
    const { mode, release: leave } = await admission.admit(call(5_000_000));
    t.equal(mode, 'fast');
    leave();
  }
});

t.test('slow calls of organizations alternate', async (t) => {
  const { admission, call } = build(unlimited, { running: 1 });
  const first = await admission.admit(call(1, { latency: 'slow' }));
  const order: string[] = [];
  const waiting = ['busy', 'busy', 'busy', 'guest'].map(async (organizationId) => {
    const admitted = await admission.admit(call(1, { latency: 'slow', organizationId }));
    order.push(organizationId);
    admitted.release();
  });
  first.release();
  await Promise.all(waiting);
  t.same(order, ['busy', 'guest', 'busy', 'busy']);
});

t.test('fast calls run at once up to the concurrency limit', async (t) => {
  const { admission, call } = build(unlimited);
  const calls = Array.from({ length: 32 }, () => admission.admit(call(1, { organizationId: 'busy' })));
  const running = await Promise.all(calls);
  const order: string[] = [];
  const waiting = ['busy', 'busy', 'guest'].map(async (organizationId) => {
    const admitted = await admission.admit(call(1, { organizationId }));
    order.push(organizationId);
    admitted.release();
  });
  await flushPromises();
  t.same(order, []);
  running[0]?.release();
  running[0]?.release();
  await Promise.all(waiting);
  t.same(order, ['busy', 'guest', 'busy']);
});
