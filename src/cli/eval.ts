import { AppError } from '../core/app-error.ts';
import { findJudgedFolders, type JudgedSet, readJudgedSet, sampleEvenly } from '../eval/judged-set.ts';
import { type Estimate, estimateGain, estimateMean } from '../eval/measures.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { measureSet, type SearchVariant, type VariantScores } from './eval-run.ts';
import { exitCodes } from './exit-codes.ts';
import { integerOption } from './option-values.ts';
import { printTable } from './terminal.ts';

export const evalCommand: CommandSpec = {
  usage: 'eval <folder>',
  settings: 'client',
  summary: 'evaluate the search quality on a judged set: nDCG, MRR and recall',
  options: [
    {
      flags: '--reranker <model>',
      meaning: 'reorder the best results with this model, for example zerank-2',
    },
    {
      flags: '--latency-mode <mode>',
      meaning: 'latency mode; high gives better results',
      choices: ['low', 'high'],
    },
    { flags: '--compare', meaning: 'also evaluate other configurations and compare them with the first' },
    {
      flags: '--queries <count>',
      meaning: 'maximum queries per set, evenly sampled',
      default: '1000',
    },
    { flags: '--split <name>', meaning: 'judgments of qrels/<name>.tsv', default: 'test' },
    {
      flags: '-c, --collection <name>',
      meaning: 'collection for the documents of the set; an existing collection is used unchanged',
    },
    jsonOption,
  ],
  examples: [
    'quarry eval my-questions/',
    'quarry eval my-questions/ --reranker zerank-2 --compare',
    'quarry eval beir/ --queries 200 --json',
  ],
  run: evaluate,
};

interface EvaluatedSet {
  readonly set: JudgedSet;
  readonly scores: readonly VariantScores[];
}

const comparedReranker = 'zerank-2';

async function evaluate(
  context: CommandContext,
  [folder = '']: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const folders = await findJudgedFolders(folder);
  const collection = options.collection === undefined ? null : String(options.collection);
  if (collection !== null && folders.length > 1) {
    throw new AppError(
      'bad_request',
      `--collection requires a single set, but ${folder} has ${folders.length}.`,
    );
  }
  const questionsMax = integerOption(options, 'queries', { minimum: 1, maximum: 1_000_000 });
  const variants = variantsOf(options);
  const evaluated: EvaluatedSet[] = [];
  for (const setFolder of folders) {
    const whole = await readJudgedSet(setFolder, String(options.split));
    const set = { ...whole, questions: sampleEvenly(whole.questions, questionsMax) };
    evaluated.push({ set, scores: await measureSet(context, set, variants, collection) });
  }
  if (options.json === true) context.terminal.out(JSON.stringify({ sets: evaluated.map(toJson) }));
  else printResults(context, evaluated);
  return exitCodes.done;
}

function variantsOf(options: CommandOptions): SearchVariant[] {
  const reranker = options.reranker === undefined ? null : String(options.reranker);
  const mode = options.latencyMode === undefined ? null : String(options.latencyMode);
  if (options.compare !== true) {
    // Without `reranker` in the request, the server's default reranker applies.
    return [toVariant(reranker ?? 'no reranker', mode, reranker === null ? {} : { reranker })];
  }
  const model = reranker ?? comparedReranker;
  const withAndWithoutReranker = (latency: string | null) => [
    toVariant('no reranker', latency, { reranker: null }),
    toVariant(model, latency, { reranker: model }),
  ];
  const singleVariant = (name: string, lexical: number, vector: number) =>
    toVariant(name, mode, { reranker: null, weights: { lexical, vector } });
  return [
    ...withAndWithoutReranker(mode),
    singleVariant('lexical only', 1, 0),
    singleVariant('vector only', 0, 1),
    ...(mode === 'high' ? [] : withAndWithoutReranker('high')),
  ];
}

function toVariant(
  name: string,
  latency: string | null,
  parameters: SearchVariant['parameters'],
): SearchVariant {
  return latency === null
    ? { name, parameters }
    : { name: `${name}, latency ${latency}`, parameters: { ...parameters, latency_mode: latency } };
}

function toJson({ set, scores }: EvaluatedSet) {
  return {
    name: set.name,
    documents: set.documents.length,
    questions: set.questions.length,
    ways: scores.map(({ variant, ...values }) => ({
      name: variant.name,
      parameters: variant.parameters,
      ndcg_at_10: estimateMean(values.ndcg),
      mrr_at_10: estimateMean(values.mrr),
      recall_at_100: estimateMean(values.recall),
      ndcg_gain: estimateGain(values.ndcg, scores[0]!.ndcg),
    })),
  };
}

function printResults({ terminal }: CommandContext, evaluated: readonly EvaluatedSet[]): void {
  const hasComparison = (evaluated[0]?.scores.length ?? 0) > 1;
  const headings = ['Set', '>Documents', '>Questions', 'Configuration', '>nDCG@10', '>MRR@10', '>Recall@100'];
  const rows = evaluated.flatMap(({ set, scores }) =>
    scores.map((one, i) => [
      ...(i > 0 ? ['', '', ''] : [set.name, String(set.documents.length), String(set.questions.length)]),
      one.variant.name,
      ...[one.ndcg, one.mrr, one.recall].map((values) => formatEstimate(estimateMean(values))),
      ...(hasComparison ? [i === 0 ? '' : formatGain(estimateGain(one.ndcg, scores[0]!.ndcg))] : []),
    ]),
  );
  const means = evaluated.length === 1 ? [] : meanRows(evaluated, hasComparison);
  printTable(terminal, [...headings, ...(hasComparison ? ['>nDCG gain'] : [])], [...rows, ...means]);
  terminal.out('');
  terminal.out('±: half of the 95 % confidence interval over the queries of the set.');
}

/** Returns unweighted means over the sets, independent of their numbers of questions. */
function meanRows(evaluated: readonly EvaluatedSet[], hasComparison: boolean): string[][] {
  const meanOver = (valuesOf: (one: EvaluatedSet) => readonly number[]) =>
    evaluated.reduce((sum, one) => sum + estimateMean(valuesOf(one)).mean, 0) / evaluated.length;
  const first = meanOver(({ scores }) => scores[0]!.ndcg);
  return (evaluated[0]?.scores ?? []).map(({ variant }, i) => {
    const mean = (['ndcg', 'mrr', 'recall'] as const).map((name) =>
      meanOver(({ scores }) => scores[i]![name]),
    );
    return [
      ...[i > 0 ? '' : 'mean', '', '', variant.name],
      ...mean.map((value) => value.toFixed(4)),
      ...(hasComparison ? [i === 0 ? '' : formatGain({ mean: mean[0]! - first, margin: null })] : []),
    ];
  });
}

function formatEstimate({ mean, margin }: Estimate): string {
  return margin === null ? mean.toFixed(4) : `${mean.toFixed(4)} ±${margin.toFixed(4)}`;
}

function formatGain(estimated: Estimate): string {
  return `${estimated.mean < 0 ? '' : '+'}${formatEstimate(estimated)}`;
}
