import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import t from 'tap';
import { organizationSemaphore } from '../../src/admission/organization-semaphore.ts';
import { systemChance } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { DerivedFiles } from '../../src/pipeline/derived-files.ts';
import { PageImages, pageImageWidths } from '../../src/pipeline/page-images.ts';
import { callerWith } from '../base/caller.ts';
import { until } from '../waiting.ts';

const hash = (letter: string) => letter.repeat(64);

function setup(t: { teardown: (clean: () => void) => void }) {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-images-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const drawn: string[] = [];
  const gone = new Set<string>();
  /** What drawing a page waits for. */
  const held: { promise: Promise<unknown> } = { promise: Promise.resolve() };
  const time = { now: 0 };
  const semaphore = organizationSemaphore({ permits: 1, waitingMax: 20, what: 'page images' });
  const open = async (bytesMax: number) => {
    const files = await DerivedFiles.open({
      blobs: { size: async (name) => (gone.has(name) ? null : 1) },
      folder: join(folder, 'pages'),
      bytesMax,
      chance: systemChance,
    });
    const run = async <Result>(task: object) => {
      const { file, page, widthMax, line } = task as DrawTask;
      drawn.push(`${file[0]}${page}${widthMax === undefined ? '' : ` ${widthMax}`}`);
      const cancelled = new Promise<'cancelled'>((resolve) =>
        line.once('message', () => resolve('cancelled')),
      );
      const outcome = await Promise.race([cancelled, held.promise]);
      line.close();
      if (outcome === 'cancelled') return { failure: { code: 'timeout', message: 'cancelled' } } as Result;
      return (page > 8 ? null : new Uint8Array(100).fill(page)) as Result;
    };
    const clock = { monotonic: () => time.now };
    return new PageImages({ pool: { run }, semaphore, blobs: { path: (name) => name }, files, clock });
  };
  return {
    open,
    drawn,
    gone,
    held,
    time,
    semaphore,
    files: () => readdirSync(join(folder, 'pages')),
    folder,
  };
}

interface DrawTask {
  readonly file: string;
  readonly page: number;
  readonly widthMax?: number;
  readonly line: MessagePort;
}

function requestOf(rawHash: string, page: number, width: number | null = null) {
  return { organizationId: 'one', rawHash, page, width, caller: callerWith() };
}

t.test('a page is drawn once however many ask, and again only after it had to make room', async (t) => {
  const { open, drawn, files } = setup(t);
  const images = await open(250);
  const asked = await Promise.all([1, 1, 1].map((page) => images.get(requestOf(hash('a'), page))));
  t.same(asked[2], new Uint8Array(100).fill(1));
  t.same(drawn, ['a1']);
  await images.get(requestOf(hash('a'), 2));
  await images.get(requestOf(hash('a'), 1));
  await images.get(requestOf(hash('b'), 3));
  t.equal(files().length, 2, 'the bound holds');
  await images.get(requestOf(hash('a'), 1));
  t.same(drawn, ['a1', 'a2', 'b3'], 'what was used last is kept');
  await images.get(requestOf(hash('a'), 2));
  t.same(drawn, ['a1', 'a2', 'b3', 'a2']);
});

t.test('a page that cannot be drawn has no image, and nothing is kept of it', async (t) => {
  const { open, files } = setup(t);
  const images = await open(1_000);
  t.equal(await images.get(requestOf(hash('a'), 9)), null);
  t.same(files(), []);
});

t.test('after a restart images are still there, but none of deleted files and no halves', async (t) => {
  const { open, drawn, gone, files, folder } = setup(t);
  const first = await open(1_000);
  await first.get(requestOf(hash('a'), 1));
  await first.get(requestOf(hash('b'), 1));
  writeFileSync(join(folder, 'pages', 'x.part'), 'half an image');
  gone.add(hash('b'));
  const second = await open(1_000);
  t.same(files(), [`${hash('a')}-1.jpg`]);
  await second.get(requestOf(hash('a'), 1));
  t.same(drawn, ['a1', 'b1']);
});

t.test('an image that somebody removed from the disk is drawn again', async (t) => {
  const { open, drawn, folder } = setup(t);
  const images = await open(1_000);
  await images.get(requestOf(hash('a'), 1));
  rmSync(join(folder, 'pages', `${hash('a')}-1.jpg`));
  t.same(await images.get(requestOf(hash('a'), 1)), new Uint8Array(100).fill(1));
  t.same(drawn, ['a1', 'a1']);
});

t.test('whatever widths are asked for, a page is drawn in a few of them only', async (t) => {
  const { open, drawn } = setup(t);
  const images = await open(100_000);
  for (let width = 1; width < 3_000; width += 7) await images.get(requestOf(hash('a'), 1, width));
  t.equal(drawn.length, pageImageWidths.length);
  await images.get(requestOf(hash('a'), 1, 300));
  await images.get(requestOf(hash('a'), 1));
  t.same(drawn.slice(0, 3), ['a1 128', 'a1 256', 'a1 384']);
  t.equal(drawn.at(-1), 'a1', 'the usual size is one of its own');
});

/** A promise that the test settles. */
function gate() {
  let open = () => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

t.test(
  'organizations take turns: one request waits for one page of another, not for all of them',
  async (t) => {
    const { open, drawn, held, semaphore } = setup(t);
    const images = await open(100_000);
    const { promise, open: start } = gate();
    held.promise = promise;
    const many = Array.from({ length: 8 }, (_, page) => images.get(requestOf(hash('a'), page)));
    await until('the first page is being drawn', () => drawn.length === 1);
    const few = images.get({ ...requestOf(hash('b'), 1), organizationId: 'two' });
    await until('the others wait', () => semaphore.waiting === 8);
    start();
    await Promise.all([...many, few]);
    t.ok(drawn.indexOf('b1') <= 2, drawn.join());
    t.equal(drawn.length, 9);
  },
);

t.test('more requests of an organization than may wait are refused, those of others are not', async (t) => {
  const { open, held, semaphore } = setup(t);
  const images = await open(100_000);
  const { promise, open: start } = gate();
  held.promise = promise;
  let refusals = 0;
  const asked = Array.from({ length: 30 }, (_, i) => images.get(requestOf(hash('abcdef'[i % 6]!), i % 5)));
  const outcomes = Promise.allSettled(asked);
  for (const one of asked)
    one.catch(() => {
      refusals += 1;
    });
  await until('all others are refused', () => refusals === 9 && semaphore.waiting === 20);
  const other = images.get({ ...requestOf(hash('e'), 7), organizationId: 'two' });
  start();
  t.same(await other, new Uint8Array(100).fill(7));
  const refused = (await outcomes).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  t.equal(refused.length, 9, 'one is drawn and 20 wait');
  t.match(refused[0], { code: 'rate_limited', message: /more than 20 at a time/ });
});

t.test('a page that no client waits for is not drawn, and drawing stops with the last client', async (t) => {
  const { open, drawn, held, semaphore, files } = setup(t);
  const images = await open(100_000);
  const first = gate();
  held.promise = first.promise;
  const leaving = [new AbortController(), new AbortController()] as const;
  const drawing = leaving.map(({ signal }) =>
    images.get({ ...requestOf(hash('a'), 1), caller: callerWith(signal) }).catch((error) => error),
  );
  await until('the page is being drawn', () => drawn.length === 1);
  const queued = new AbortController();
  const waiting = images
    .get({ ...requestOf(hash('b'), 2), caller: callerWith(queued.signal) })
    .catch((error) => error);
  await until('the second page waits', () => semaphore.waiting === 1);
  queued.abort();
  t.match(await waiting, { code: 'unavailable' });
  leaving[0].abort();
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.same(drawn, ['a1'], 'the other client still waits');
  leaving[1].abort();
  for (const outcome of await Promise.all(drawing)) t.match(outcome, { code: 'unavailable' });
  t.same(files(), []);
  held.promise = Promise.resolve();
  t.same(
    await images.get(requestOf(hash('a'), 1)),
    new Uint8Array(100).fill(1),
    'it is no failure of the page',
  );
  t.same(drawn, ['a1', 'a1'], 'what waited was not drawn');
});

t.test('a page that cannot be drawn is not tried again for a while', async (t) => {
  const { open, drawn, time } = setup(t);
  const images = await open(1_000);
  for (let i = 0; i < 3; i++) t.equal(await images.get(requestOf(hash('a'), 9)), null);
  t.same(drawn, ['a9']);
  time.now += limits.pageImageFailureMs;
  t.equal(await images.get(requestOf(hash('a'), 9)), null);
  t.same(drawn, ['a9', 'a9']);
});

t.test(
  'a file or a parser that is gone while a page is drawn is a 503, and the next call draws again',
  async (t) => {
    const { open, drawn, held } = setup(t);
    const images = await open(1_000);
    held.promise = Promise.reject(new Error('ENOENT: no such file'));
    held.promise.catch(() => {});
    await t.rejects(images.get(requestOf(hash('a'), 1)), { code: 'unavailable', status: 503 });
    held.promise = Promise.resolve();
    t.ok(await images.get(requestOf(hash('a'), 1)));
    t.equal(drawn.length, 2);
  },
);
