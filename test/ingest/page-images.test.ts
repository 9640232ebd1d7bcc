import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { createOrganizationSemaphore } from '../../src/admission/organization-semaphore.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import { DerivedFiles } from '../../src/ingest/derived-files.ts';
import { PageImages, pageImageWidths } from '../../src/ingest/page-images.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';

const hash = (letter: string) => letter.repeat(64);

function setup(t: { teardown: (clean: () => void) => void }) {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-images-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const renderedPages: string[] = [];
  const missingPages = new Set<string>();
  /** Rendering a page waits for this promise. */
  const drawGate: { promise: Promise<unknown> } = { promise: Promise.resolve() };
  const time = { now: 0 };
  const semaphore = createOrganizationSemaphore({ permits: 1, waitingMax: 20, noun: 'page images' });
  const open = async (bytesMax: number) => {
    const files = await DerivedFiles.open({
      blobs: { exists: async (name) => !missingPages.has(name) },
      folder: join(folder, 'pages'),
      bytesMax,
      random: systemRandom,
    });
    const run = async <Result>(task: object) => {
      const { file, page, widthMax, port } = task as RenderTask;
      renderedPages.push(`${file[0]}${page}${widthMax === undefined ? '' : ` ${widthMax}`}`);
      const canceled = new Promise<'canceled'>((resolve) => port.once('message', () => resolve('canceled')));
      const outcome = await Promise.race([canceled, drawGate.promise]);
      port.close();
      if (outcome === 'canceled') return { failure: { code: 'timeout', message: 'canceled' } } as Result;
      return (page > 8 ? null : new Uint8Array(100).fill(page)) as Result;
    };
    const clock = { monotonic: () => time.now };
    return new PageImages({
      pool: { run },
      semaphore,
      blobs: { use: async (name) => ({ path: name, release() {} }) },
      files,
      clock,
    });
  };
  return {
    open,
    renderedPages,
    missingPages,
    drawGate,
    time,
    semaphore,
    files: () => readdirSync(join(folder, 'pages')),
    folder,
  };
}

interface RenderTask {
  readonly file: string;
  readonly page: number;
  readonly widthMax?: number;
  readonly port: MessagePort;
}

function requestOf(rawHash: string, page: number, width: number | null = null) {
  return { organizationId: 'one', rawHash, page, width, caller: cancellationTokenWith() };
}

t.test('a page is rendered once for concurrent requests, and again only after its eviction', async (t) => {
  const { open, renderedPages, files } = setup(t);
  const images = await open(250);
  const results = await Promise.all([1, 1, 1].map((page) => images.get(requestOf(hash('a'), page))));
  t.same(results[2], new Uint8Array(100).fill(1));
  t.same(renderedPages, ['a1']);
  await images.get(requestOf(hash('a'), 2));
  await images.get(requestOf(hash('a'), 1));
  await images.get(requestOf(hash('b'), 3));
  t.equal(files().length, 2, 'the bound holds');
  await images.get(requestOf(hash('a'), 1));
  t.same(renderedPages, ['a1', 'a2', 'b3'], 'the most recently used images are kept');
  await images.get(requestOf(hash('a'), 2));
  t.same(renderedPages, ['a1', 'a2', 'b3', 'a2']);
});

t.test('a page that cannot be rendered has no image and leaves no file', async (t) => {
  const { open, files } = setup(t);
  const images = await open(1_000);
  t.equal(await images.get(requestOf(hash('a'), 9)), null);
  t.same(files(), []);
});

t.test('images survive a restart, except those of deleted files and partial ones', async (t) => {
  const { open, renderedPages, missingPages, files, folder } = setup(t);
  const first = await open(1_000);
  await first.get(requestOf(hash('a'), 1));
  await first.get(requestOf(hash('b'), 1));
  writeFileSync(join(folder, 'pages', 'x.part'), 'half an image');
  missingPages.add(hash('b'));
  const second = await open(1_000);
  t.same(files(), [`${hash('a')}-1.jpg`]);
  await second.get(requestOf(hash('a'), 1));
  t.same(renderedPages, ['a1', 'b1']);
});

t.test('an image whose file was removed is rendered again', async (t) => {
  const { open, renderedPages, folder } = setup(t);
  const images = await open(1_000);
  await images.get(requestOf(hash('a'), 1));
  rmSync(join(folder, 'pages', `${hash('a')}-1.jpg`));
  t.same(await images.get(requestOf(hash('a'), 1)), new Uint8Array(100).fill(1));
  t.same(renderedPages, ['a1', 'a1']);
});

t.test('a page is rendered only in a few fixed widths', async (t) => {
  const { open, renderedPages } = setup(t);
  const images = await open(100_000);
  for (let width = 1; width < 3_000; width += 7) await images.get(requestOf(hash('a'), 1, width));
  t.equal(renderedPages.length, pageImageWidths.length);
  await images.get(requestOf(hash('a'), 1, 300));
  await images.get(requestOf(hash('a'), 1));
  t.same(renderedPages.slice(0, 3), ['a1 128', 'a1 256', 'a1 384']);
  t.equal(renderedPages.at(-1), 'a1', 'the default size is a separate image');
});

/** Promise that the test resolves. */
function createGate() {
  let open = () => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

t.test(
  'organizations take turns: one request waits for one page of another, not for all of them',
  async (t) => {
    const { open, renderedPages, drawGate, semaphore } = setup(t);
    const images = await open(100_000);
    const { promise, open: start } = createGate();
    drawGate.promise = promise;
    const many = Array.from({ length: 8 }, (_, page) => images.get(requestOf(hash('a'), page)));
    await waitUntil('the first page is being rendered', () => renderedPages.length === 1);
    const few = images.get({ ...requestOf(hash('b'), 1), organizationId: 'two' });
    await waitUntil('the others wait', () => semaphore.waiting === 8);
    start();
    await Promise.all([...many, few]);
    t.ok(renderedPages.indexOf('b1') <= 2, renderedPages.join());
    t.equal(renderedPages.length, 9);
  },
);

t.test('requests of an organization beyond its limit are rejected, those of others are not', async (t) => {
  const { open, drawGate, semaphore } = setup(t);
  const images = await open(100_000);
  const { promise, open: start } = createGate();
  drawGate.promise = promise;
  let rejections = 0;
  const results = Array.from({ length: 30 }, (_, i) => images.get(requestOf(hash('abcdef'[i % 6]!), i % 5)));
  const outcomes = Promise.allSettled(results);
  for (const one of results)
    one.catch(() => {
      rejections += 1;
    });
  await waitUntil('all others are rejected', () => rejections === 9 && semaphore.waiting === 20);
  const other = images.get({ ...requestOf(hash('e'), 7), organizationId: 'two' });
  start();
  t.same(await other, new Uint8Array(100).fill(7));
  const errors = (await outcomes).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  t.equal(errors.length, 9, 'one is rendered and 20 wait');
  t.match(errors[0], { code: 'rate_limited', message: /more than 20 waiting/ });
});

t.test(
  'a page without waiting clients is not rendered, and rendering stops with the last client',
  async (t) => {
    const { open, renderedPages, drawGate, semaphore, files } = setup(t);
    const images = await open(100_000);
    const first = createGate();
    drawGate.promise = first.promise;
    const leaving = [new AbortController(), new AbortController()] as const;
    const drawing = leaving.map(({ signal }) =>
      images
        .get({ ...requestOf(hash('a'), 1), caller: cancellationTokenWith(signal) })
        .catch((error) => error),
    );
    await waitUntil('the page is being rendered', () => renderedPages.length === 1);
    const queued = new AbortController();
    const waiting = images
      .get({ ...requestOf(hash('b'), 2), caller: cancellationTokenWith(queued.signal) })
      .catch((error) => error);
    await waitUntil('the second page waits', () => semaphore.waiting === 1);
    queued.abort();
    t.match(await waiting, { code: 'unavailable' });
    leaving[0].abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
    t.same(renderedPages, ['a1'], 'the other client still waits');
    leaving[1].abort();
    for (const outcome of await Promise.all(drawing)) t.match(outcome, { code: 'unavailable' });
    t.same(files(), []);
    drawGate.promise = Promise.resolve();
    t.same(
      await images.get(requestOf(hash('a'), 1)),
      new Uint8Array(100).fill(1),
      'the cancellation is not a failure of the page',
    );
    t.same(renderedPages, ['a1', 'a1'], 'the waiting page was not rendered');
  },
);

t.test('a page that cannot be rendered is not retried for a while', async (t) => {
  const { open, renderedPages, time } = setup(t);
  const images = await open(1_000);
  for (let i = 0; i < 3; i++) t.equal(await images.get(requestOf(hash('a'), 9)), null);
  t.same(renderedPages, ['a9']);
  time.now += limits.pageImageFailureMs;
  t.equal(await images.get(requestOf(hash('a'), 9)), null);
  t.same(renderedPages, ['a9', 'a9']);
});

t.test('a missing file or parser during rendering is a 503, and the next call renders again', async (t) => {
  const { open, renderedPages, drawGate } = setup(t);
  const images = await open(1_000);
  drawGate.promise = Promise.reject(new Error('ENOENT: no such file'));
  drawGate.promise.catch(() => {});
  await t.rejects(images.get(requestOf(hash('a'), 1)), { code: 'unavailable', status: 503 });
  drawGate.promise = Promise.resolve();
  t.ok(await images.get(requestOf(hash('a'), 1)));
  t.equal(renderedPages.length, 2);
});
