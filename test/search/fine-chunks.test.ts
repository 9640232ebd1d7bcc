import { quantize } from '../../src/models/quantization.ts';
import { scoreFineChunks } from '../../src/search/fine-chunks.ts';
import type { PreparedQuery } from '../../src/search/prepared-query.ts';
import { QueryRecorder } from '../../src/search/query-recorder.ts';
import type { SearchComponents } from '../../src/search/search-components.ts';
import { analyzeQuery, type LexicalQuery } from '../../src/text/query.ts';
import { encodeFineTerms } from '../../src/text/terms.ts';
import { seededRandom } from '../chunking/sample-texts.ts';
import t from '../support/tap.ts';
import { languageSamples } from '../text/language-samples.ts';
import { RandomUnicodeText } from '../text/random-text.ts';
import { type ReferenceParent, referenceFineScores } from './reference-fine-scores.ts';

const seed = 20_261_125;
const dimensions = 37;
const sampleLanguages = ['en', 'de', 'fr', 'ru', 'ar', null] as const;

type Random = () => number;

function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)]!;
}

/** Returns a coarse chunk with up to 12 fine chunks: words of a language, any characters, or white space. */
function randomParent(random: Random, randomText: RandomUnicodeText): ReferenceParent {
  const language = pick(random, sampleLanguages);
  const words = (languageSamples as Record<string, string>)[language ?? 'en']?.split(/(?<=[\s、。])/u) ?? [];
  let text = '';
  const children = Array.from({ length: 1 + Math.floor(random() * 12) }, () => {
    const start = text.length;
    const kind = random();
    if (kind < 0.1) text += ' \n\u3000';
    else if (kind < 0.3) text += `${randomText.next()}😀 `;
    else for (let i = random() * 20; i > 0; i -= 1) text += pick(random, words);
    text += 'x';
    // The end of a fine chunk may lie in a word.
    if (random() < 0.8) text = `${text.slice(0, -1)} `;
    return { start, end: text.length };
  });
  const vectors = Float32Array.from({ length: children.length * dimensions }, () => random() - 0.5);
  return { text, language, children, codes: quantize(vectors, dimensions), fused: random() };
}

/** Returns a query of words in the texts and others; some occur twice. */
function randomQuery(random: Random, parents: readonly ReferenceParent[]): LexicalQuery {
  const words = parents.flatMap(({ text }) => text.split(/\s+/u));
  const typed = Array.from({ length: 1 + Math.floor(random() * 12) }, () => pick(random, words));
  return analyzeQuery([...typed, pick(random, typed), 'foo-bar unknownword'].join(' '), [
    'en',
    'de',
    'fr',
    'ru',
  ]);
}

async function nativeScores(
  query: Pick<PreparedQuery, 'lexicalQuery' | 'vector' | 'weights'>,
  parents: readonly ReferenceParent[],
) {
  const prepared = {
    ...query,
    generation: 0,
    recorder: new QueryRecorder({ monotonic: () => 0 }),
    request: { collection: { collectionId: '' }, yieldToEventLoop: () => null },
  } as unknown as PreparedQuery;
  const candidates = parents.map(({ fused }, row) => ({ version: 1, row, lexical: 0, similarity: 0, fused }));
  const reader = {
    readFineChunks: (_collectionId: string, rows: readonly { readonly row: number }[]) =>
      rows.map(({ row }) => {
        const { codes, language } = parents[row]!;
        return { codes, terms: encodeFineTerms(parents[row]!, language) };
      }),
  } as unknown as SearchComponents['reader'];
  const scores = await scoreFineChunks({ reader }, prepared, candidates);
  const flatten = ({ candidate, ...score }: ReturnType<typeof scores.at>) => ({
    parent: candidate.row,
    ...score,
  });
  return {
    inOrder: Array.from({ length: scores.length }, (_, i) => flatten(scores.at(i))),
    best: scores.best().map(flatten),
    best3: scores.best(3).map(flatten),
  };
}

t.test(`fine chunks have the scores of the reference implementation (seed ${seed})`, async (t) => {
  const random = seededRandom(seed);
  const randomText = new RandomUnicodeText(seed);
  let matched = 0;
  for (let round = 0; round < 120; round += 1) {
    const parents = Array.from({ length: Math.floor(random() * 40) }, () => randomParent(random, randomText));
    const lexicalQuery = randomQuery(
      random,
      parents.length > 0 ? parents : [randomParent(random, randomText)],
    );
    const vector = round % 4 === 0 ? null : Float32Array.from({ length: dimensions }, () => random() - 0.5);
    const weights = pick(random, [
      { lexical: 1, vector: 0.6 },
      { lexical: 0, vector: 1 },
      { lexical: 3, vector: 0 },
    ]);
    const expected = referenceFineScores({ lexicalQuery, vector, weights }, parents);
    const found = await nativeScores({ lexicalQuery, vector, weights }, parents);
    t.strictSame(found.inOrder, expected, `round ${round}`);
    const ordered = expected.toSorted((a, b) => b.score - a.score);
    t.strictSame(found.best, ordered);
    t.strictSame(found.best3, ordered.slice(0, 3));
    matched += expected.filter(({ lexical }) => lexical > 0).length;
  }
  t.ok(matched > 2_000, `${matched} fine chunks match a query word`);
});

t.test('damaged blocks and codes of other dimensions are rejected', async (t) => {
  const parent = randomParent(seededRandom(seed), new RandomUnicodeText(seed));
  const query = {
    lexicalQuery: analyzeQuery('word'),
    vector: new Float32Array(dimensions),
    weights: { lexical: 1, vector: 1 },
  };
  const other = { ...parent, codes: parent.codes.subarray(1) };
  await t.rejects(nativeScores(query, [other]), /one record per fine chunk/);
});
