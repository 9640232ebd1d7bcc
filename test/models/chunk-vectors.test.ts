import { embedChunks } from '../../src/models/chunk-vectors.ts';
import type { ChunkEmbeddingInput } from '../../src/models/model.ts';
import { defaultEmbeddingModel, openEmbedder } from '../../src/models/registry.ts';
import { createTestRandom, type TestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';

const words = [
  ...'the harbour master counted barrels of salted herring every Thursday at 12.30 for 1,299 crowns'.split(
    ' ',
  ),
  ...[
    'Fässer',
    'größte',
    'naïve',
    'x'.repeat(300),
    '中文文本',
    'กำลัง',
    '한국어',
    '𝐇𝐞𝐫𝐫𝐢𝐧𝐠',
    'ﬁn',
    '...',
    '\n\n',
    'e\u0301',
  ],
];

/** Text of random words, some joined without a space, with fine chunks that may split words. */
function chunkOf(random: TestRandom, wordCount: number): ChunkEmbeddingInput {
  const pick = () => words[random.below(words.length)]!;
  const text = Array.from({ length: wordCount }, () => pick() + ' '.repeat(random.below(2))).join('');
  const cuts = Array.from({ length: random.below(9) }, () => random.below(text.length + 1));
  const sorted = [...cuts, 0, text.length].sort((a, b) => a - b);
  const children = sorted.slice(1).map((end, i) => ({ start: sorted[i]!, end }));
  return { text, prefix: random.below(4) === 0 ? '' : `${pick()} > ${pick()}`, children };
}

const random = createTestRandom();

t.test(
  `embedding a chunk with its parts equals embedding each separately (seed ${random.seed})`,
  async (t) => {
    const embedder = await openEmbedder(defaultEmbeddingModel);
    t.teardown(() => embedder.close());
    t.ok(embedder.embedChunks !== undefined, 'the built-in model reads chunks at once');
    const apart = { ...embedder, id: embedder.id, dimensions: embedder.dimensions, close: async () => {} };
    const one = {
      ...apart,
      embed: (...input: Parameters<typeof embedder.embed>) => embedder.embed(...input),
    };
    for (let round = 0; round < 30; round += 1) {
      const chunks = Array.from({ length: random.below(5) }, () => chunkOf(random, random.below(120)));
      const together = await embedChunks(embedder, chunks, () => {});
      const separate = await embedChunks(one, chunks, () => {});
      t.same(together, separate);
    }
  },
);
