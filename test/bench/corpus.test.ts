import { Corpus } from '../../bench/harness/corpus.ts';
import t from '../support/tap.ts';

const options = { seed: 1, documents: 400, wordsPerDocument: 200 };

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z]+/g) ?? [];
}

function shareOf(words: readonly string[], known: ReadonlySet<string>): number {
  return words.filter((word) => known.has(word)).length / words.length;
}

t.test('the same seed generates the same corpus, and another seed a different one', async (t) => {
  const [one, twin, other] = [new Corpus(options), new Corpus(options), new Corpus({ ...options, seed: 2 })];
  t.same(one.document(7), twin.document(7));
  t.equal(one.question(7), twin.question(7));
  t.not(one.document(7).text, other.document(7).text);
  t.not(one.question(7), other.question(7));
});

t.test('every document has its own path and about the requested length', async (t) => {
  const corpus = new Corpus(options);
  const documents = Array.from({ length: options.documents }, (_, i) => corpus.document(i));
  t.equal(new Set(documents.map(({ path }) => path)).size, options.documents);
  const lengths = documents.map(({ text }) => wordsOf(text).length);
  t.ok(
    Math.min(...lengths) >= 100 && Math.max(...lengths) <= 300,
    `${Math.min(...lengths)}..${Math.max(...lengths)}`,
  );
});

t.test('few words are common and many are rare, as in any language', async (t) => {
  const corpus = new Corpus(options);
  const counts = new Map<string, number>();
  for (let i = 0; i < options.documents; i++) {
    for (const word of wordsOf(corpus.document(i).text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const sorted = [...counts.values()].toSorted((a, b) => b - a);
  const total = sorted.reduce((sum, count) => sum + count, 0);
  const head = sorted.slice(0, 50).reduce((sum, count) => sum + count, 0);
  t.ok(head / total > 0.35, `the fifty commonest words are ${head / total} of the text`);
  t.ok(sorted.length > 5_000, `${sorted.length} different words`);
});

t.test('documents of a topic share words that others lack, and questions are about a topic', async (t) => {
  const corpus = new Corpus(options);
  const byTopic = new Map<string, string[]>();
  for (let i = 0; i < options.documents; i++) {
    const { path, text } = corpus.document(i);
    const topic = path.split('/')[0] ?? '';
    byTopic.set(topic, [...(byTopic.get(topic) ?? []), text]);
  }
  const [first = [], second = []] = [...byTopic.values()];
  const known = new Set(first.slice(1).flatMap(wordsOf));
  const same = shareOf(wordsOf(first[0] ?? ''), known);
  const foreign = shareOf(wordsOf(second[0] ?? ''), known);
  t.ok(same > foreign + 0.1, `${same} of the words within a topic, ${foreign} across`);
  const questions = Array.from({ length: 1_000 }, (_, i) => corpus.question(i));
  t.ok(new Set(questions).size > 990, 'questions differ');
  t.ok(questions.every((question) => /^how [a-z ]+\?$/.test(question)));
});
