import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRocks, packGroup } from '../../src/storage/rocksdb.ts';
import { ThreadWriter } from '../../src/storage/thread-writer.ts';
import t from '../support/tap.ts';

t.test('stop waits for the running write, is idempotent, and prevents further writes', async (t) => {
  const location = mkdtempSync(join(tmpdir(), 'quarry-writer-'));
  t.teardown(() => rmSync(location, { recursive: true, force: true }));
  const database = await openRocks({ location, cacheBytes: 1_000_000 });
  t.teardown(() => database.close());
  const writer = new ThreadWriter(database.handle);
  const key = Buffer.from('key');
  const group = await packGroup([{ type: 'put', key, value: Buffer.from('value') }], () => null);
  const written = writer.write(group);
  await Promise.all([writer.stop(), writer.stop(), t.resolves(written, 'the write is acknowledged')]);
  t.equal(Buffer.from(database.getMany([key])[0]!).toString(), 'value');
  await writer.stop();
  t.throws(() => writer.write(new ArrayBuffer(0)), /the writer is not stopped/);
});

t.test('a group of many short operations is packed in turns', async (t) => {
  let turns = 0;
  const operations = Array.from({ length: 10_000 }, (_, i) => ({
    type: 'put' as const,
    key: Buffer.from(`key ${i}`),
    value: Buffer.alloc(0),
  }));
  await packGroup(operations, () => {
    turns += 1;
    return null;
  });
  t.ok(turns >= 9, `${turns} checks`);
});

t.test('a writer that never wrote can be stopped', async (t) => {
  await t.resolves(new ThreadWriter(0n).stop());
});
