import type { ChunkTaskResult } from '../../src/chunking/chunk-task.ts';
import { packResults } from '../../src/chunking/pack-results.ts';
import t from '../support/tap.ts';

/** Arrays whose lengths cause every kind of alignment gap. */
const resultOf = (length: number): ChunkTaskResult => ({
  chunks: [],
  pageStarts: [],
  length,
  tokens: { content: length, embedding: 1 },
  dimensions: 3,
  terms: Uint8Array.from({ length }, (_, i) => i + 1),
  fineTerms: Uint8Array.from({ length }, (_, i) => 2 * i),
  spans: Uint32Array.from({ length }, (_, i) => 70_000 + i),
  vectors: Float32Array.from({ length }, (_, i) => i / 3),
  codes: Uint8Array.from({ length }, (_, i) => 255 - i),
});

t.test('results survive packing into one block of memory', (t) => {
  const results = [0, 1, 7, 8, 9, 0, 30].map(resultOf);
  const together = packResults(results);
  t.same(together.results, results);
  for (const { terms, fineTerms, spans, vectors, codes } of together.results) {
    for (const array of [terms, fineTerms, spans, vectors, codes]) t.equal(array.buffer, together.block);
  }
  t.same(packResults([]).results, []);
  t.end();
});
