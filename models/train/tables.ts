/**
 * Prints what `quarry eval <folder> --compare --json` measured as Markdown, beside plain BM25 (Porter stems or plain
 * words, k1 .9, b .4) over the same whole texts and questions: `node dist/models/train/tables.js --eval <folder of sets>
 * [--queries 300] [--terms porter|plain] <file with the JSON>`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { evenlySpaced, readJudgedSet } from '../../src/eval/judged-set.ts';
import { ndcg, recall } from '../../src/eval/measures.ts';
import { best } from './best.ts';
import { Bm25 } from './bm25.ts';
import { type PlainCut, plainCut, plainParameters, plainTerms } from './plain-terms.ts';
import { usualSets } from './usual-sets.ts';

interface Quality {
  readonly ndcg: number;
  readonly recall: number;
}

/** What of the reply of `quarry eval` is printed. */
interface Evaluated {
  readonly sets: readonly {
    readonly name: string;
    readonly questions: number;
    readonly ways: readonly {
      readonly name: string;
      readonly ndcg_at_10: { readonly mean: number };
      readonly recall_at_100: { readonly mean: number };
    }[];
  }[];
}

interface Row {
  readonly name: string;
  readonly questions: number;
  /** One per column. */
  readonly values: readonly number[];
}

const plain = 'BM25';
/** Columns and the ways of `quarry eval` behind them; a reranker changes nothing in the first 100. */
const columns: Record<keyof Quality, Readonly<Record<string, string>>> = {
  ndcg: {
    [plain]: plain,
    words: 'lexical only',
    meaning: 'vector only',
    both: 'no reranker',
    'both, high': 'no reranker, latency high',
    'zerank-2': 'zerank-2',
    'zerank-2, high': 'zerank-2, latency high',
  },
  recall: {
    [plain]: plain,
    words: 'lexical only',
    meaning: 'vector only',
    both: 'no reranker',
    'both, high': 'no reranker, latency high',
  },
};
const titles: Record<keyof Quality, string> = { ndcg: 'nDCG@10', recall: 'Recall@100' };

async function plainQuality(folder: string, questions: number, cut: PlainCut): Promise<Quality> {
  const set = await readJudgedSet(folder);
  const bm25 = new Bm25(
    set.documents.map(({ text }) => plainTerms(text, cut)),
    plainParameters,
  );
  const sum = { ndcg: 0, recall: 0 };
  const asked = evenlySpaced(set.questions, questions);
  for (const { text, grades } of asked) {
    const found = best(bm25.scores(plainTerms(text, cut)), 100).map((row) => set.documents[row]!.id);
    sum.ndcg += ndcg(found, grades, 10) / asked.length;
    sum.recall += recall(found, grades, 100) / asked.length;
  }
  return sum;
}

function meanOf(rows: readonly Row[]): Row {
  const usual = rows.filter(({ name }) => usualSets.includes(name));
  const counted = usual.length > 0 ? usual : rows;
  const values = rows[0]!.values.map(
    (_, column) => counted.reduce((sum, row) => sum + row.values[column]!, 0) / counted.length,
  );
  const questions = counted.reduce((sum, row) => sum + row.questions, 0);
  return { name: `**mean of ${counted.length}**`, questions, values };
}

function print(measure: keyof Quality, rows: readonly Row[]): void {
  const headings = Object.keys(columns[measure]);
  console.log(`| ${titles[measure]} | questions | ${headings.join(' | ')} |`);
  console.log(`|---|---:|${headings.map(() => '---:|').join('')}`);
  for (const { name, questions, values } of [...rows, meanOf(rows)])
    console.log(`| ${[name, questions, ...values.map((value) => value.toFixed(4))].join(' | ')} |`);
  console.log('');
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      eval: { type: 'string' },
      queries: { type: 'string', default: '300' },
      terms: { type: 'string', default: 'porter' },
    },
    allowPositionals: true,
  });
  const [file, ...more] = positionals;
  if (values.eval === undefined || file === undefined || more.length > 0)
    throw new Error('--eval names the folder of the sets, and one file has the JSON of `quarry eval`');
  const cut = plainCut(values.terms);
  const { sets } = JSON.parse(await readFile(file, 'utf8')) as Evaluated;
  const qualities = new Map<string, Map<string, Quality>>();
  for (const { name, ways } of sets) {
    const measured = ways.map((way): [string, Quality] => [
      way.name,
      { ndcg: way.ndcg_at_10.mean, recall: way.recall_at_100.mean },
    ]);
    const own = await plainQuality(join(values.eval, name), Number(values.queries), cut);
    qualities.set(name, new Map([...measured, [plain, own]]));
  }
  for (const measure of ['ndcg', 'recall'] as const) {
    const ways = Object.values(columns[measure]);
    const rows = sets.map(({ name, questions }) => ({
      ...{ name, questions },
      values: ways.map((way) => {
        const found = qualities.get(name)!.get(way);
        if (found === undefined) throw new Error(`${file} has no "${way}": was it made with --compare?`);
        return found[measure];
      }),
    }));
    print(measure, rows);
  }
}

await main();
