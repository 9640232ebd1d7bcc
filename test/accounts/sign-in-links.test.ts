import { limits } from '../../src/core/limits.ts';
import t from '../support/tap.ts';
import { buildUsers, statusOf } from './user-components.ts';

/** Links that sign a user in. */

async function buildLinks() {
  const { links, ...rest } = await buildUsers();
  return {
    ...rest,
    links,
    issue: () => links.issue({ email: 'ada@example.com', redirect: '/', browserToken: 'b' }),
    statusOfLink: (token: string) => statusOf(Promise.resolve().then(() => links.verify(token))),
  };
}

t.test('a sign-in link is invalid after it expires, and when its secret is removed', async (t) => {
  const { links, clock, issue, statusOfLink } = await buildLinks();
  t.equal(limits.magicLinkMsMax, 600_000, 'ten minutes');
  const token = issue();
  await clock.advance(limits.magicLinkMsMax - 1);
  t.equal(await statusOfLink(token), 200);
  await clock.advance(1);
  t.equal(await statusOfLink(token), 400, 'expired');
  await clock.advance(60_001);
  await links.sweep(clock.now());
  t.equal(await statusOfLink(token), 400);
});

t.test('a newer link leaves the older one valid, so that other users cannot invalidate it', async (t) => {
  const { store, issue, statusOfLink } = await buildLinks();
  const [older, newer] = [issue(), issue()];
  t.same(await Promise.all([older, newer].map(statusOfLink)), [200, 200]);
  for await (const entry of store.range({ gte: Uint8Array.of(0x2b), lt: Uint8Array.of(0x2c) }))
    t.fail(`an unused link is stored: ${entry.key.length} bytes`);
});

t.test('a sign-in link with one changed character is invalid', async (t) => {
  const { issue, statusOfLink } = await buildLinks();
  const token = issue();
  for (let at = 0; at < token.length - 1; at += 7) {
    const forged = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
    t.equal(await statusOfLink(forged), 400, `at ${at}`);
  }
  for (const text of ['', 'x', '.', 'A'.repeat(100), 'A'.repeat(10_000)])
    t.equal(await statusOfLink(text), 400);
});

t.test('records of used links are deleted a day after they expire, however many there are', async (t) => {
  const { links, store, clock, issue } = await buildLinks();
  for (let i = 0; i < 2_500; i += 1) await store.write(links.consume(links.verify(issue())));
  const count = async () => {
    let found = 0;
    for await (const { key } of store.range({ gte: Uint8Array.of(0x2b), lt: Uint8Array.of(0x2c) }))
      found += Math.sign(key.length);
    return found;
  };
  await links.sweep(clock.now());
  t.equal(await count(), 2_500);
  await clock.advance(limits.magicLinkMsMax + 86_400_001);
  await links.sweep(clock.now());
  t.equal(await count(), 0);
});

t.test('a used sign-in link is invalid, also for a concurrent request that read it earlier', async (t) => {
  const { links, store, issue, statusOfLink } = await buildLinks();
  const token = issue();
  const link = links.verify(token);
  await store.write(links.consume(link));
  t.equal(await statusOfLink(token), 400);
  await t.rejects(store.write(links.consume(link)), { name: 'ExpectationFailedError' });
});
