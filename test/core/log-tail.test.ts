import { LogTail } from '../../src/core/log-tail.ts';
import t from '../support/tap.ts';

const all = { level: null, text: null };

function lineOf(event: string, fields: object = {}, level = 30): string {
  return `${JSON.stringify({ level, time: '2026-01-01T00:00:00.000Z', ...fields, msg: event })}\n`;
}

const events = (page: { readonly lines: readonly { readonly event: string }[] }) =>
  page.lines.map(({ event }) => event);

t.test('the tail returns the last lines in order, with their fields', async (t) => {
  const tail = new LogTail(10_000);
  t.same(tail.readLast(all, 10), { lines: [], next: 0, isTruncated: false });
  for (const event of ['a', 'b', 'c']) tail.write(lineOf(event, { shard: 3 }));
  const page = tail.readLast(all, 2);
  t.same(events(page), ['b', 'c']);
  t.equal(page.next, 3);
  t.same(page.lines[0], {
    time: '2026-01-01T00:00:00.000Z',
    level: 'info',
    event: 'b',
    fields: { shard: 3 },
  });
});

t.test('level and text select lines; the text is found in event and fields', async (t) => {
  const tail = new LogTail(10_000);
  tail.write(lineOf('snapshot written', { path: 'C:\\Data "x"' }, 20));
  tail.write(lineOf('Backup created', { bytes: 7 }, 30));
  tail.write(lineOf('backup failed', { error: { code: 'ENOSPC' } }, 50));
  t.same(events(tail.readLast({ level: 'warn', text: null }, 9)), ['backup failed']);
  t.same(events(tail.readLast({ level: null, text: 'backup' }, 9)), ['Backup created', 'backup failed']);
  t.same(events(tail.readLast({ level: null, text: 'c:\\data "x"' }, 9)), ['snapshot written']);
  t.same(events(tail.readLast({ level: null, text: 'enospc' }, 9)), ['backup failed']);
  t.same(events(tail.readLast({ level: null, text: 'bytes: 7' }, 9)), ['Backup created']);
});

t.test('a reader follows the tail without a gap or a repetition', async (t) => {
  const tail = new LogTail(10_000);
  tail.write(lineOf('before'));
  const { next } = tail.readLast(all, 10);
  t.same(tail.readFrom(next, all, 10), { lines: [], next, isTruncated: false });
  for (let i = 0; i < 5; i += 1) tail.write(lineOf(`e${i}`, {}, i % 2 === 0 ? 40 : 30));
  const first = tail.readFrom(next, all, 2);
  t.same(events(first), ['e0', 'e1']);
  t.same(events(tail.readFrom(first.next, all, 10)), ['e2', 'e3', 'e4']);
  const warnings = tail.readFrom(next, { level: 'warn', text: null }, 2);
  t.same(events(warnings), ['e0', 'e2']);
  t.same(events(tail.readFrom(warnings.next, { level: 'warn', text: null }, 2)), ['e4']);
});

t.test('the oldest lines make room for new ones, and a reader learns of the gap', async (t) => {
  const size = lineOf('e000').length + 16;
  const tail = new LogTail(size * 10);
  for (let i = 0; i < 1_000; i += 1) {
    tail.write(lineOf(`e${String(i).padStart(3, '0')}`));
    const { lines, next } = tail.readLast(all, 100);
    t.equal(lines.length, Math.min(i + 1, 10));
    t.equal(next, i + 1);
  }
  const page = tail.readFrom(500, all, 2);
  t.same(events(page), ['e990', 'e991']);
  t.ok(page.isTruncated);
  t.notOk(tail.readFrom(990, all, 2).isTruncated);
  tail.write(lineOf('x'.repeat(size * 10)));
  t.same(tail.readFrom(1_000, all, 10), { lines: [], next: 1_001, isTruncated: true });
});
