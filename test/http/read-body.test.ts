import { SharedBudget } from '../../src/admission/shared-budget.ts';
import { BodyQueue } from '../../src/http/body-queue.ts';
import { chunkBuffers } from '../../src/http/chunk-buffers.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { BoundedBody, BudgetedBodyReservation, type MinimumThroughput } from '../../src/http/read-body.ts';
import t from '../support/tap.ts';

const minimumThroughput = { bytesPerSecondMin: 1_024, windowMs: 15_000, bytesMin: 0 };

/** A body whose bytes arrive with `pushBytes`, after a given number of milliseconds of waiting. */
function build(bounds: Partial<MinimumThroughput> = {}) {
  let now = 0;
  const clock = { now: () => now, monotonic: () => now };
  const body = new BodyQueue(null, { pause() {}, resume() {}, onFirstRead() {} });
  const exchange = { body, header: () => undefined } as Pick<Exchange, 'body' | 'header'> as Exchange;
  const bounded = new BoundedBody(
    exchange,
    {
      bytesMax: 1_000_000,
      idleMsMax: 60_000,
      msMax: 3_600_000,
      minimumThroughput: { ...minimumThroughput, ...bounds },
    },
    clock,
  );
  const pushBytes = async (bytes: number, afterMs: number): Promise<number | undefined> => {
    const read = bounded.read();
    now += afterMs;
    body.push(Buffer.alloc(bytes));
    return (await read)?.byteLength;
  };
  return { body, bounded, pushBytes, passes: (ms: number) => (now += ms) };
}

const tooSlow = { code: 'request_timeout', message: /at least 1024 bytes per second/ };

t.test('a body that arrives too slowly is aborted, regardless of the bytes received before', async (t) => {
  const { pushBytes } = build();
  t.equal(await pushBytes(500_000, 10_000), 500_000);
  t.equal(await pushBytes(10, 6_000), 10, 'the rate is measured over the whole window');
  t.equal(await pushBytes(10, 6_000), 10);
  t.equal(await pushBytes(10, 6_000), 10);
  await t.rejects(pushBytes(10, 6_000), tooSlow);
});

t.test('time not spent waiting for the client does not count', async (t) => {
  const { pushBytes, passes: advance } = build();
  for (let i = 0; i < 10; i += 1) {
    advance(60_000);
    t.equal(await pushBytes(10, 1_000), 10);
  }
});

t.test('a small body may be slow', async (t) => {
  const { pushBytes } = build({ bytesMin: 1_000 });
  for (let i = 0; i < 10; i += 1) t.equal(await pushBytes(99, 16_000), 99);
  await t.rejects(pushBytes(99, 16_000), tooSlow);
});

t.test('the parts of a body are copied in turns, and its pooled buffers are free again', async (t) => {
  const { body, bounded } = build();
  const reservation = new BudgetedBodyReservation(new SharedBudget(1_000_000), 'owner');
  const values = [1, 2, 3, 4];
  const chunks = values.map((value) => chunkBuffers.copy(new Uint8Array(100_000).fill(value).buffer));
  const [first, ...others] = chunks;
  body.push(first!);
  let turns = 0;
  const parts = await reservation.readParts(
    bounded,
    async () => {
      const next = others.shift();
      if (next === undefined) body.finish();
      else body.push(next);
    },
    () => {
      turns += 1;
      return null;
    },
  );
  t.same(
    parts.map((part) => [part[0], part.byteLength, part.buffer.byteLength]),
    values.map((value) => [value, 100_000, 100_000]),
  );
  t.equal(turns, chunks.length);
  const buffers = new Set(chunks.map(({ buffer }) => buffer));
  t.ok(buffers.has(chunkBuffers.copy(new ArrayBuffer(100_000)).buffer));
});
