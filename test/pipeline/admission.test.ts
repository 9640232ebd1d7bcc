import t from 'tap';
import { AppError } from '../../src/base/app-error.ts';
import { Admission } from '../../src/pipeline/admission.ts';

t.test('documents are refused at the limits, with the limit and the time to come back', async (t) => {
  const full = new AppError('reserve_reached', 'The disk is nearly full.', { retryAfterMs: 5_000 });
  const cases: readonly (readonly [AppError | null, depth: number, bytes: number, string | null, RegExp])[] =
    [
      [null, 9, 99, null, /./],
      [null, 10, 99, 'queue_full', /10 documents.*QUARRY_QUEUE_DOCUMENTS_MAX/],
      [null, 9, 100, 'reserve_reached', /100 bytes.*QUARRY_MEMORY_BYTES_MAX/],
      [full, 9, 99, 'reserve_reached', /disk/],
    ];
  for (const [disk, depth, bytes, code, message] of cases) {
    const admission = new Admission({
      space: {
        check() {
          if (disk !== null) throw disk;
        },
      },
      queueDepth: () => depth,
      queueDocumentsMax: 10,
      heldBytes: () => bytes,
      memoryBytesMax: 100,
      clock: { monotonic: () => 0 },
    });
    if (code === null) t.doesNotThrow(() => admission.check());
    else t.throws(() => admission.check(), { code, message, options: { retryAfterMs: Number } });
  }
});

t.test('memory that is free again is noticed, and not asked for at every document', async (t) => {
  let now = 0;
  let asked = 0;
  let bytes = 100;
  const admission = new Admission({
    space: { check() {} },
    queueDepth: () => 0,
    queueDocumentsMax: 10,
    heldBytes: () => {
      asked += 1;
      return bytes;
    },
    memoryBytesMax: 100,
    clock: { monotonic: () => now },
  });
  t.throws(() => admission.check(), { code: 'reserve_reached' });
  bytes = 99;
  t.throws(() => admission.check(), { code: 'reserve_reached' });
  now = 60;
  t.doesNotThrow(() => admission.check());
  t.equal(asked, 2);
});
