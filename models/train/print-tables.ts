/**
 * Prints the results of `quarry eval <folder> --compare --json` as Markdown, next to plain BM25 (Porter stems
 * or plain words, k1 .9, b .4) over the same whole texts and questions:
 * `node dist/models/train/print-tables.js --eval <folder of sets> [--queries 300]
 * [--terms porter|plain] <file with the JSON>`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readJudgedSet, sampleEvenly } from '../../src/eval/judged-set.ts';
import { ndcg, recall } from '../../src/eval/measures.ts';
import { Bm25 } from './bm25.ts';
import { defaultSets } from './default-sets.ts';
import {
  extractPlainTerms,
  type PlainAnalyzer,
  parsePlainAnalyzer,
  plainBm25Parameters,
} from './plain-terms.ts';
import { topRows } from './top-rows.ts';

interface Quality {
  readonly ndcg: number;
  readonly recall: number;
}

/** Fields of the output of `quarry eval` that are printed. */
interface EvalReport {
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
  /** One value per column. */
  readonly values: readonly number[];
}

const plain = 'BM25';
/**
 * Columns, and the `quarry eval` variant of each. Rerankers have no recall column, because reranking does not
 * change the first 100.
 */
const columns: Record<keyof Quality, Readonly<Record<string, string>>> = {
  ndcg: {
    [plain]: plain,
    lexical: 'lexical only',
    vector: 'vector only',
    hybrid: 'no reranker',
    'hybrid, high': 'no reranker, latency high',
    'zerank-2': 'zerank-2',
    'zerank-2, high': 'zerank-2, latency high',
  },
  recall: {
    [plain]: plain,
    lexical: 'lexical only',
    vector: 'vector only',
    hybrid: 'no reranker',
    'hybrid, high': 'no reranker, latency high',
  },
};
const titles: Record<keyof Quality, string> = { ndcg: 'nDCG@10', recall: 'Recall@100' };

async function evaluatePlainBm25(
  folder: string,
  questions: number,
  analyzer: PlainAnalyzer,
): Promise<Quality> {
  const set = await readJudgedSet(folder);
  const bm25 = new Bm25(
    set.documents.map(({ text }) => extractPlainTerms(text, analyzer)),
    plainBm25Parameters,
  );
  const sum = { ndcg: 0, recall: 0 };
  const questionSample = sampleEvenly(set.questions, questions);
  for (const { text, grades } of questionSample) {
    const ranking = topRows(bm25.scores(extractPlainTerms(text, analyzer)), 100).map(
      (row) => set.documents[row]!.id,
    );
    sum.ndcg += ndcg(ranking, grades, 10) / questionSample.length;
    sum.recall += recall(ranking, grades, 100) / questionSample.length;
  }
  return sum;
}

function computeMean(rows: readonly Row[]): Row {
  const defaultRows = rows.filter(({ name }) => defaultSets.includes(name));
  const countedRows = defaultRows.length > 0 ? defaultRows : rows;
  const values = rows[0]!.values.map(
    (_, column) => countedRows.reduce((sum, row) => sum + row.values[column]!, 0) / countedRows.length,
  );
  const questions = countedRows.reduce((sum, row) => sum + row.questions, 0);
  return { name: `**mean of ${countedRows.length}**`, questions, values };
}

function printTable(measure: keyof Quality, rows: readonly Row[]): void {
  const headings = Object.keys(columns[measure]);
  console.log(`| ${titles[measure]} | queries | ${headings.join(' | ')} |`);
  console.log(`|---|---:|${headings.map(() => '---:|').join('')}`);
  for (const { name, questions, values } of [...rows, computeMean(rows)])
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
    throw new Error(
      'usage: --eval <folder of judged sets> <JSON file written by `quarry eval --compare --json`>',
    );
  const analyzer = parsePlainAnalyzer(values.terms);
  const { sets } = JSON.parse(await readFile(file, 'utf8')) as EvalReport;
  const qualities = new Map<string, Map<string, Quality>>();
  for (const { name, ways } of sets) {
    const measured = ways.map((way): [string, Quality] => [
      way.name,
      { ndcg: way.ndcg_at_10.mean, recall: way.recall_at_100.mean },
    ]);
    const plainBm25Quality = await evaluatePlainBm25(
      join(values.eval, name),
      Number(values.queries),
      analyzer,
    );
    qualities.set(name, new Map([...measured, [plain, plainBm25Quality]]));
  }
  for (const measure of ['ndcg', 'recall'] as const) {
    const ways = Object.values(columns[measure]);
    const rows = sets.map(({ name, questions }) => ({
      name,
      questions,
      values: ways.map((way) => {
        const found = qualities.get(name)!.get(way);
        if (found === undefined) throw new Error(`${file} has no "${way}": was it made with --compare?`);
        return found[measure];
      }),
    }));
    printTable(measure, rows);
  }
}

await main();
