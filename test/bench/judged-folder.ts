import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const subjects = ['rivers', 'mountains', 'engines', 'bread', 'music', 'stars'] as const;

/** Writes a small set in BEIR layout: document and question `i` are about the same subject. */
export async function writeJudgedFolder(folder: string, documents: number): Promise<void> {
  const about = (i: number) => `${subjects[i % subjects.length]} of region ${i}`;
  const numbers = Array.from({ length: documents }, (_, i) => i);
  const lines = (records: readonly object[]) => `${records.map((one) => JSON.stringify(one)).join('\n')}\n`;
  const texts = numbers.map((i) => ({
    _id: `d${i}`,
    title: `About ${about(i)}`,
    text: `A report on ${about(i)}. `.repeat(5).trim(),
  }));
  await mkdir(join(folder, 'qrels'), { recursive: true });
  // An empty document, as real sets have them.
  await writeFile(join(folder, 'corpus.jsonl'), lines([...texts, { _id: 'empty', title: '', text: '' }]));
  await writeFile(
    join(folder, 'queries.jsonl'),
    lines(numbers.map((i) => ({ _id: `q${i}`, text: `what is known of ${about(i)}` }))),
  );
  const judgments = numbers.map((i) => `q${i}\td${i}\t1`);
  await writeFile(join(folder, 'qrels', 'test.tsv'), `query-id\tcorpus-id\tscore\n${judgments.join('\n')}\n`);
}
