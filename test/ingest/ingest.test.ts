import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../../src/core/limits.ts';
import type { Logger } from '../../src/core/logger.ts';
import { CollectionIndex, IndexError } from '../../src/index/collection-index.ts';
import t from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import {
  diskFullError,
  type IngestComponents,
  ingestText,
  openComponents,
  searchText,
  textDocument,
} from './controllable-store.ts';

/** Clock that runs `speed` times as fast, so that retries happen soon. */
function fastClock(speed: number) {
  const start = performance.now();
  const elapsed = () => (performance.now() - start) * speed;
  return { now: () => 1_700_000_000_000 + elapsed(), monotonic: elapsed };
}

async function addFile({ blobs, writer, papers }: IngestComponents, path: string): Promise<number> {
  const file = await blobs.put(Buffer.from(`the bytes of ${path}`));
  const { version } = await writer.add(papers, {
    ...textDocument(path, ''),
    contentKind: 'auto',
    rawHash: file.hash,
    size: file.size,
    pages: null,
  });
  file.release();
  return version;
}

const settled = (components: IngestComponents, version: number) =>
  components.ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
const record = ({ documents, papers }: IngestComponents, path: string) =>
  documents.get(papers.collectionId, path);

t.test('a failing parser is retried, and the document is indexed when it recovers', async (t) => {
  let calls = 0;
  const parse = async () => {
    calls += 1;
    if (calls < 3) throw new Error('unlucky');
    return ['recovered text'];
  };
  const first = await openComponents(t, { parse, clock: fastClock(1_000) });
  first.ingest.start();
  const processing = setInterval(() => first.ingest.start(), 5);
  await settled(first, await addFile(first, 'a.bin'));
  clearInterval(processing);
  t.match(record(first, 'a.bin'), { status: 'indexed', error: null });
  t.same(await searchText(first, 'recovered'), ['a.bin']);
});

t.test('errors of documents are logged without their text under zero data retention', async (t) => {
  const parse = async () => {
    throw new Error('cannot read "secret words of a document"');
  };
  const lines: string[] = [];
  const note = (fields: object) => void lines.push(JSON.stringify(fields));
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  for (const isPrivate of [false, true]) {
    lines.length = 0;
    const mayLogContent = () => !isPrivate;
    const first = await openComponents(t, { parse, clock: fastClock(1_000), logger, mayLogContent });
    const processing = setInterval(() => first.ingest.start(), 5);
    await settled(first, await addFile(first, 'a.bin'));
    clearInterval(processing);
    t.match(record(first, 'a.bin'), { status: 'parsing_failed' });
    t.match(lines.join(), /"step":"parse".*"stack":\["at /, 'the log has the location of the error');
    t.equal(lines.join().includes('secret words'), !isPrivate);
  }
});

t.test('a document that always fails ends with a reason, blocks no other, and can be retried', async (t) => {
  let isBroken = true;
  const parse = async () => {
    if (isBroken) throw new Error('always');
    return ['at last'];
  };
  const first = await openComponents(t, { parse, clock: fastClock(1_000) });
  const processing = setInterval(() => first.ingest.start(), 5);
  const version = await addFile(first, 'a.bin');
  await ingestText(first, 'b.txt', 'a text that does not wait');
  t.equal(record(first, 'b.txt')?.status, 'indexed');
  await settled(first, version);
  t.match(record(first, 'a.bin'), {
    status: 'parsing_failed',
    live: null,
    numPages: null,
    error: { retryable: true },
  });
  isBroken = false;
  await first.writer.retry(first.papers, 'a.bin', 'not_parsed');
  await settled(first, version);
  clearInterval(processing);
  t.match(record(first, 'a.bin'), { status: 'indexed', error: null });
});

t.test('texts never wait for files that take long to parse', async (t) => {
  let finish = (_: string[]) => {};
  const slow = new Promise<string[]>((resolve) => {
    finish = resolve;
  });
  const first = await openComponents(t, { parse: () => slow });
  for (let i = 0; i < 20; i += 1) await addFile(first, `${i}.pdf`);
  await ingestText(first, 'note.txt', 'a quick note');
  t.equal(record(first, 'note.txt')?.status, 'indexed');
  finish(['done']);
});

t.test(
  'deleted and overwritten documents are abandoned at any step, and waiting callers are notified',
  async (t) => {
    let finish = (_: string[]) => {};
    const slow = new Promise<string[]>((resolve) => {
      finish = resolve;
    });
    const first = await openComponents(t, { parse: () => slow });
    const versions = [];
    for (let i = 0; i < 6; i += 1) versions.push(await addFile(first, `${i}.pdf`));
    const outcomes = versions.map((version) => settled(first, version));
    await first.writer.remove(first.papers, ['0.pdf', '1.pdf', '4.pdf']);
    const overwritten = textDocument('2.pdf', 'now a text', { overwrite: true });
    const { version } = await first.writer.add(first.papers, overwritten);
    await Promise.all([outcomes[0], outcomes[1], outcomes[2], outcomes[4], settled(first, version)]);
    finish(['the parsed page']);
    await Promise.all([outcomes[3], outcomes[5]]);
    while (first.ingest.depth > 0) await wait(5);
    t.same(await searchText(first, 'parsed'), ['3.pdf', '5.pdf']);
    t.same(await searchText(first, 'now'), ['2.pdf']);
    t.match(first.counts.get(first.papers.collectionId).documents, { indexed: 3, parsing: 0, not_parsed: 0 });
  },
);

t.test('processing of a deleted collection ends', async (t) => {
  const first = await openComponents(t, { parse: () => new Promise(() => {}) });
  for (let i = 0; i < 10; i += 1) await addFile(first, `${i}.pdf`);
  await first.deleteCollection(first.papers);
  while (first.ingest.depth > 0) await wait(5);
  t.equal(record(first, '9.pdf')?.status, 'not_parsed', 'no work is done for a deleted collection');
});

t.test('documents wait while the disk is full, and are indexed afterwards', async (t) => {
  const first = await openComponents(t);
  const { version } = await first.writer.add(first.papers, textDocument('a.txt', 'patience'));
  first.store.nextFailure = diskFullError();
  await wait(60);
  t.not(record(first, 'a.txt')?.status, 'indexed');
  first.store.nextFailure = null;
  await settled(first, version);
  t.match(record(first, 'a.txt'), { status: 'indexed', attempts: 0 });
});

t.test('a full write queue delays no document', async (t) => {
  let parsed = 0;
  const parse = async () => {
    parsed += 1;
    return ['a page of patience'];
  };
  const first = await openComponents(t, { parse });
  const version = await addFile(first, 'a.pdf');
  first.store.isQueueFull = true;
  await t.rejects(ingestText(first, 'b.txt', 'refused'), { code: 'queue_full' });
  await settled(first, version);
  t.match(record(first, 'a.pdf'), { status: 'indexed' });
  t.equal(parsed, 1, 'no work is repeated');
});

t.test('files are not parsed while there is no space for the result, and once each afterwards', async (t) => {
  let isFull = true;
  let parsed = 0;
  const parse = async () => {
    parsed += 1;
    return ['a page of patience'];
  };
  const space = {
    check() {
      if (isFull) throw diskFullError();
    },
  };
  const first = await openComponents(t, { parse, space });
  const version = await addFile(first, 'a.pdf');
  await wait(60);
  t.equal(parsed, 0);
  isFull = false;
  await settled(first, version);
  t.match(record(first, 'a.pdf'), { status: 'indexed' });
  t.equal(parsed, 1);
});

t.test('documents wait at the memory limit, and are indexed when memory is available', async (t) => {
  let cuts = 0;
  const onCut = async () => {
    cuts += 1;
  };
  const memory = { isReached: false };
  const first = await openComponents(t, { memory, onChunk: onCut });
  await ingestText(first, 'before.txt', 'patience, early');
  memory.isReached = true;
  const read = await addFile(first, 'read.pdf');
  const texts = ['a.txt', 'b.txt', 'gone.txt'].map((path) => textDocument(path, `patience in ${path}`));
  const added = [];
  for (const text of texts) added.push(await first.writer.add(first.papers, text));
  while (record(first, 'read.pdf')?.numPages === null) await wait(5);
  await first.writer.remove(first.papers, ['before.txt', 'gone.txt']);
  await wait(300);
  t.equal(cuts, 1, 'files are parsed, but nothing more is chunked');
  t.equal(first.ingest.waitingForMemory, 4);
  t.match(record(first, 'a.txt'), { status: 'not_indexed', attempts: 0, error: null });
  t.same(await searchText(first, 'patience'), [], 'deleted documents are removed at once');
  await first.close();
  const second = { ...first, ...(await first.again()) };
  await wait(50);
  t.equal(record(second, 'a.txt')?.status, 'not_indexed', 'nor after a restart');
  memory.isReached = false;
  await Promise.all(
    [read, ...added.map(({ version }) => version)].map((version) => settled(second, version)),
  );
  t.same((await searchText(second, 'patience')).sort(), ['a.txt', 'b.txt']);
  t.match(record(second, 'read.pdf'), { status: 'indexed', attempts: 0 });
  t.equal(second.ingest.waitingForMemory, 0);
});

t.test('rows are staged later when the engine is busy', async (t) => {
  const { stage } = CollectionIndex.prototype;
  let rejections = 0;
  CollectionIndex.prototype.stage = function (this: CollectionIndex, document) {
    if (rejections >= 8) return stage.call(this, document);
    rejections += 1;
    return Promise.reject(new IndexError('busy', 'the shard is being compacted'));
  };
  t.teardown(() => {
    CollectionIndex.prototype.stage = stage;
  });
  let cuts = 0;
  const onCut = async () => {
    cuts += 1;
  };
  const first = await openComponents(t, { clock: fastClock(1_000), onChunk: onCut });
  const processing = setInterval(() => first.ingest.start(), 5);
  await ingestText(first, 'a.txt', 'a text about patience');
  clearInterval(processing);
  t.match(record(first, 'a.txt'), { status: 'indexed', attempts: 0 });
  t.equal(cuts, 1, 'the chunks are kept meanwhile');
  rejections = 0;
  await first.close();
  rmSync(join(first.folder, 'index', first.papers.collectionId), { recursive: true });
  const second = await first.again();
  t.same(await searchText({ ...second, papers: first.papers }, 'patience'), ['a.txt'], 'also at startup');
});

t.test('documents that need too much memory together are processed one after another', async (t) => {
  let cutting = 0;
  let most = 0;
  const onCut = async () => {
    cutting += 1;
    most = Math.max(most, cutting);
    await wait(2);
    cutting -= 1;
  };
  const text = 'x'.repeat(100);
  const all = async (indexBytes: number) => {
    most = 0;
    const first = await openComponents(t, { onChunk: onCut, indexBytes });
    await Promise.all(['a', 'b', 'c', 'd'].map((path) => ingestText(first, path, text)));
    t.ok(['a', 'b', 'c', 'd'].every((path) => record(first, path)?.status === 'indexed'));
    return most;
  };
  t.equal(await all(limits.indexingBytesPerTextByte * 200), 2);
  t.equal(await all(limits.indexingBytesPerTextByte * 199), 1);
  t.equal(await all(1), 1, 'also a document that never fits');
});

t.test(
  'processing of a deleted collection is abandoned at once, and waiting callers are notified',
  async (t) => {
    const first = await openComponents(t, { parse: () => new Promise(() => {}) });
    const version = await addFile(first, 'a.pdf');
    const outcomes = settled(first, version);
    while (record(first, 'a.pdf')?.status !== 'parsing') await wait(1);
    await first.deleteCollection(first.papers);
    await outcomes;
    while (first.ingest.depth > 0) await wait(1);
    t.equal(record(first, 'a.pdf')?.status, 'parsing', 'the data is unchanged until the sweep');
  },
);

t.test('a temporarily unreadable store loses no work', async (t) => {
  const first = await openComponents(t, { parse: async () => wait(30, ['a page of patience']) });
  const version = await addFile(first, 'a.pdf');
  const readable = first.store.failReads();
  await wait(80);
  readable();
  await settled(first, version);
  t.match(record(first, 'a.pdf'), { status: 'indexed' });
});

t.test('all work continues at the next start after a close', async (t) => {
  const first = await openComponents(t, { parse: async () => wait(3, ['a page']) });
  for (let i = 0; i < 12; i += 1) await addFile(first, `${i}.pdf`);
  await Promise.all([first.ingest.close(), first.ingest.close()]);
  await first.close();
  const second = await first.again();
  while (second.ingest.depth > 0) await wait(5);
  t.equal(second.counts.get(first.papers.collectionId).documents.indexed, 12);
});

t.test('a new language whose write failed is recorded by the next write', async (t) => {
  const first = await openComponents(t);
  const german =
    'Der Hafenmeister hat gestern alle Fässer gezählt und die Zahlen in das große Buch geschrieben. '.repeat(
      20,
    );
  await first.writer.add(first.papers, textDocument('a.txt', german));
  first.store.nextFailure = diskFullError();
  await wait(60);
  first.store.nextFailure = null;
  while (first.ingest.depth > 0) await wait(5);
  t.same(first.collections.findById(first.papers.collectionId)?.languages, ['de']);
});

t.test('a swept collection leaves no jobs', async (t) => {
  let late = 0;
  const clock = { now: () => Date.now() + late, monotonic: () => performance.now() };
  const first = await openComponents(t, { clock });
  for (let i = 0; i < 30; i += 1) await first.writer.add(first.papers, textDocument(`${i}.txt`, `text ${i}`));
  await first.deleteCollection(first.papers);
  while (first.ingest.depth > 0) await wait(5);
  late = limits.garbageDelayMs + 1;
  await first.clean();
  t.equal(record(first, '1.txt'), undefined);
  await first.close();
  const second = await first.again();
  t.equal(second.ingest.depth, 0);
});
