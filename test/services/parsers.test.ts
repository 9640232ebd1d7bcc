import { limits } from '../../src/core/limits.ts';
import { packTexts } from '../../src/core/packed-texts.ts';
import type { FileReader } from '../../src/ingest/file-reader.ts';
import { type FileParse, ParserServices } from '../../src/services/parsers.ts';
import t from '../support/tap.ts';
import { serviceCallFor } from './service-fixture.ts';

type Outcome = Awaited<ReturnType<FileReader['read']>>;
const request = { base64_data: Buffer.from('a file').toString('base64') };
const parses: FileParse[] = [];
const performanceClock = { monotonic: () => performance.now() };
const services = (read: (bytes: Uint8Array, signal: AbortSignal) => Promise<Outcome>, msMax?: number) =>
  new ParserServices({
    reader: { read: (bytes, { signal }) => read(bytes, signal) },
    semaphore: { acquire: () => null, release: () => {} },
    spendBytes: () => {},
    recordParse: (parse) => void parses.push(parse),
    fileBytesMax: 1_000_000,
    clock: performanceClock,
    ...(msMax === undefined ? {} : { msMax }),
  });
const parsed = {
  kind: 'text',
  contentType: 'text/plain',
  unordered: false,
  headings: false,
  title: null,
  language: null,
  warnings: ['Page 2 is damaged.'],
  pageImages: 'never' as const,
};
const failure = (code: 'corrupt' | 'unsupported' | 'timeout', message: string): Outcome => ({
  failure: { code, message },
});

t.test('a file returns its pages, a damaged one the reason', async (t) => {
  const pages = services(async (bytes) => ({ ...parsed, pages: [Buffer.from(bytes).toString()] }));
  const answer = await pages.parseDocument(serviceCallFor(), request);
  t.same(
    [...answer.pages].map((parts) => [...parts].join('')),
    ['a file'],
  );
  t.same(answer.warnings, ['Page 2 is damaged.']);
  t.match(parses, [{ fileBytes: 6, pages: 1 }], 'counted');
  const broken = services(async () => failure('corrupt', 'The file is damaged.'));
  await t.rejects(broken.parseDocument(serviceCallFor(), request), {
    code: 'bad_request',
    message: 'The file is damaged.',
  });
  t.match(parses, [{}, { fileBytes: 6, pages: 0 }], 'unreadable files are reported too');
  const slow = services(async () => failure('timeout', 'too slow'));
  const refused = { code: 'parse_timeout', options: { shouldRetry: false } };
  await t.rejects(slow.parseDocument(serviceCallFor(), request), refused);
});

t.test('a long page is decoded in parts', async (t) => {
  const texts = ['short', `${'é'.repeat(1_000_000)} end`];
  const long = services(async () => ({ ...parsed, pages: packTexts(texts) }));
  const { pages } = await long.parseDocument(serviceCallFor(), request);
  const parts = [...pages].map((page) => [...page]);
  t.same(
    parts.map((page) => page.join('')),
    texts,
  );
  t.equal(parts[0]?.length, 1);
  t.ok(parts[1]!.length >= 8, `${parts[1]!.length} parts`);
});

t.test('with all parsers busy the reply is in time, and the work is canceled', async (t) => {
  let isCalledOff = false;
  const busy = services((_bytes, signal) => {
    signal.addEventListener('abort', () => {
      isCalledOff = true;
    });
    return new Promise(() => {});
  }, 20);
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const refused = { code: 'parse_timeout', options: { shouldRetry: false } };
  await t.rejects(busy.parseDocument(serviceCallFor(), request), refused);
  t.ok(isCalledOff);
});

t.test(
  'a file that arrives slowly shortens the time of its parser, not the deadline of the client',
  async (t) => {
    const busy = services(() => new Promise(() => {}));
    const call = { ...serviceCallFor(), receivedAt: performance.now() - limits.waitMsMax };
    const alive = setInterval(() => {}, 1_000);
    t.teardown(() => clearInterval(alive));
    const refused = { code: 'parse_timeout', options: { shouldRetry: false } };
    await t.rejects(busy.parseDocument(call, request), refused);
  },
);

t.test('invalid base64 reaches no parser', async (t) => {
  const none = services(async () => t.fail('the file was parsed') as never);
  await t.rejects(none.parseDocument(serviceCallFor(), { base64_data: 'ä%' }), { code: 'bad_request' });
});
