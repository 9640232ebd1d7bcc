import t from 'tap';
import { BodyQueue } from '../../src/http/body-queue.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { BoundedBody } from '../../src/http/read-body.ts';

t.test('a body that trickles is given up, a short pause is not', async (t) => {
  let now = 0;
  const clock = { now: () => now, monotonic: () => now };
  const body = new BodyQueue(null, { pause() {}, resume() {}, wanted() {} });
  const exchange = { body, header: () => undefined } as Pick<Exchange, 'body' | 'header'> as Exchange;
  const bounds = { bytesMax: 1_000_000, idleMsMax: 1_000, msMax: 3_600_000, bytesPerSecondMin: 1_024 };
  const bounded = new BoundedBody(exchange, bounds, clock);
  body.push(Buffer.alloc(40_000));
  now = 35_000;
  t.equal((await bounded.take())?.byteLength, 40_000, 'what came is more than a kilobyte per second');
  body.push(Buffer.alloc(10));
  now = 60_000;
  await t.rejects(bounded.take(), { code: 'request_timeout', message: /less than 1024 bytes per second/ });
});
