import { IngestAdmission } from '../../src/admission/ingest-admission.ts';
import { AppError } from '../../src/core/app-error.ts';
import { MemoryLimit } from '../../src/ingest/memory-limit.ts';
import { post, startTestHttpServer } from '../http/fake-services.ts';
import t from '../support/tap.ts';

/** Queue whose entries all belong to one organization. */
function queueOf(depth: number) {
  return { depth, countPendingOf: () => depth, organizationCount: 1 };
}

t.test('documents above a limit are rejected with the limit and the retry time', async (t) => {
  const full = new AppError('reserve_reached', 'The disk is nearly full.', { retryAfterMs: 5_000 });
  const cases: readonly (readonly [AppError | null, depth: number, bytes: number, string | null, RegExp])[] =
    [
      [null, 9, 99, null, /./],
      [null, 10, 99, 'queue_full', /10 documents.*QUARRY_QUEUE_DOCUMENTS_MAX/],
      [null, 9, 100, 'reserve_reached', /100 bytes.*QUARRY_MEMORY_BYTES_MAX/],
      [full, 9, 99, 'reserve_reached', /disk/],
    ];
  for (const [disk, depth, bytes, code, message] of cases) {
    const admission = new IngestAdmission({
      space: {
        check() {
          if (disk !== null) throw disk;
        },
      },
      queue: queueOf(depth),
      queueDocumentsMax: 10,
      memory: new MemoryLimit({ heldBytes: () => bytes, bytesMax: 100, clock: { monotonic: () => 0 } }),
    });
    if (code === null) t.doesNotThrow(() => admission.check('one'));
    else t.throws(() => admission.check('one'), { code, message, options: { retryAfterMs: Number } });
  }
});

t.test('freed memory is detected without reading the memory for each document', async (t) => {
  let now = 0;
  let checkCount = 0;
  let bytes = 100;
  const memory = new MemoryLimit({
    heldBytes: () => {
      checkCount += 1;
      return bytes;
    },
    bytesMax: 100,
    clock: { monotonic: () => now },
  });
  const admission = new IngestAdmission({
    space: { check() {} },
    queue: queueOf(0),
    queueDocumentsMax: 10,
    memory,
  });
  t.throws(() => admission.check('one'), { code: 'reserve_reached' });
  t.match(memory.shortage, /100 bytes \(QUARRY_MEMORY_BYTES_MAX\).*when memory is available/);
  bytes = 99;
  t.throws(() => admission.check('one'), { code: 'reserve_reached' });
  now = 60;
  t.doesNotThrow(() => admission.check('one'));
  t.equal(memory.shortage, null);
  t.equal(checkCount, 2);
});

t.test(
  'at the memory limit adds get 429 with a reason, other requests continue, and adds recover',
  async (t) => {
    let bytes = 99;
    let now = 0;
    const admission = new IngestAdmission({
      space: { check() {} },
      queue: queueOf(0),
      queueDocumentsMax: 10,
      memory: new MemoryLimit({ heldBytes: () => bytes, bytesMax: 100, clock: { monotonic: () => now } }),
    });
    const server = await startTestHttpServer('auto', {
      hooks: {
        admit: (_principal, operation) => {
          if (operation === 'add-document') admission.check('one');
        },
      },
    });
    t.teardown(() => server.close(0));
    const add = () =>
      post(server, '/v1/documents/add-document', {
        collection_name: 'c',
        path: 'p',
        content: { type: 'text', text: 'x' },
      });
    t.equal((await add()).status, 201);
    bytes = 100;
    now = 1_000;
    const refused = await add();
    t.equal(refused.status, 429);
    t.equal(refused.headers.get('retry-after'), '10');
    t.match(
      await refused.text(),
      /memory limit of 100 bytes \(QUARRY_MEMORY_BYTES_MAX\).*search and deletion still work/,
    );
    const query = { collection_name: 'c', query: 'q', k: 1 };
    t.equal((await post(server, '/v1/queries/top-documents', query)).status, 200);
    const deleting = { collection_name: 'c', path: 'p' };
    t.equal((await post(server, '/v1/documents/delete-document', deleting)).status, 200);
    bytes = 99;
    now = 2_000;
    t.equal((await add()).status, 201);
  },
);

t.test('a queue that one organization fills still accepts a few documents of others', async (t) => {
  const depths = new Map([['busy', 80]]);
  const sum = () => [...depths.values()].reduce((total, depth) => total + depth, 0);
  const admission = new IngestAdmission({
    space: { check() {} },
    queue: {
      get depth() {
        return sum();
      },
      countPendingOf: (organizationId) => depths.get(organizationId) ?? 0,
      get organizationCount() {
        return depths.size;
      },
    },
    queueDocumentsMax: 80,
    memory: { check() {} },
  });
  const add = (organizationId: string): boolean => {
    try {
      admission.check(organizationId);
    } catch (error) {
      if (error instanceof AppError && error.code === 'queue_full') return false;
      throw error;
    }
    depths.set(organizationId, (depths.get(organizationId) ?? 0) + 1);
    return true;
  };
  t.equal(add('busy'), false);
  t.ok(add('one') && add('one'), 'documents of others are accepted');
  t.ok(add('another'));
  t.equal(add('busy'), false);
  for (let i = 0; i < 1_000; i += 1) add(`guest ${i % 300}`);
  t.ok(sum() <= 80 + 10 + depths.size, 'the queue is bounded');
  depths.clear();
  depths.set('busy', 79);
  t.ok(add('busy'), 'with free capacity every organization is accepted');
});
