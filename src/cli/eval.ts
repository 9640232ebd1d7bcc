import { AppError } from '../base/app-error.ts';
import { evenlySpaced, type JudgedSet, judgedFolders, readJudgedSet } from '../eval/judged-set.ts';
import { type Estimate, estimate, gain } from '../eval/measures.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { type Answers, measureSet, type Way } from './eval-run.ts';
import { exitCodes } from './exit-codes.ts';
import { table } from './layout.ts';
import { wholeOption } from './option-values.ts';

export const evalCommand: CommandSpec = {
  usage: 'eval <folder>',
  settings: 'client',
  summary: 'measure the answers on questions that people judged: nDCG, MRR and recall',
  options: [
    {
      flags: '--reranker <model>',
      meaning: 'reorder the best results with this model, for example zerank-2',
    },
    { flags: '--latency-mode <mode>', meaning: 'high searches wider and later', choices: ['low', 'high'] },
    { flags: '--compare', meaning: 'ask in other ways too, and show what each gains over the first' },
    {
      flags: '--queries <count>',
      meaning: 'at most so many questions of a set, evenly spaced',
      default: '1000',
    },
    { flags: '--split <name>', meaning: 'judgments of qrels/<name>.tsv', default: 'test' },
    {
      flags: '-c, --collection <name>',
      meaning: 'keep the documents of the set in this collection; ask it as it is if it is there',
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

interface Evaluated {
  readonly set: JudgedSet;
  readonly answers: readonly Answers[];
}

const comparedReranker = 'zerank-2';

async function evaluate(
  context: CommandContext,
  [folder = '']: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const folders = await judgedFolders(folder);
  const collection = options.collection === undefined ? null : String(options.collection);
  if (collection !== null && folders.length > 1) {
    throw new AppError('bad_request', `--collection goes with one set, and ${folder} has ${folders.length}.`);
  }
  const questionsMax = wholeOption(options, 'queries', { minimum: 1, maximum: 1_000_000 });
  const ways = waysOf(options);
  const evaluated: Evaluated[] = [];
  for (const one of folders) {
    const whole = await readJudgedSet(one, String(options.split));
    const set = { ...whole, questions: evenlySpaced(whole.questions, questionsMax) };
    evaluated.push({ set, answers: await measureSet(context, set, ways, collection) });
  }
  if (options.json === true) context.terminal.out(JSON.stringify({ sets: evaluated.map(numbersOf) }));
  else show(context, evaluated);
  return exitCodes.done;
}

function waysOf(options: CommandOptions): Way[] {
  const reranker = options.reranker === undefined ? null : String(options.reranker);
  const mode = options.latencyMode === undefined ? null : String(options.latencyMode);
  if (options.compare !== true) {
    // Without a word about it, the server's own reranker has its say.
    return [way(reranker ?? 'no reranker', mode, reranker === null ? {} : { reranker })];
  }
  const model = reranker ?? comparedReranker;
  const both = (latency: string | null) => [
    way('no reranker', latency, { reranker: null }),
    way(model, latency, { reranker: model }),
  ];
  const alone = (name: string, lexical: number, vector: number) =>
    way(name, mode, { reranker: null, weights: { lexical, vector } });
  return [
    ...both(mode),
    alone('lexical only', 1, 0),
    alone('vector only', 0, 1),
    ...(mode === 'high' ? [] : both('high')),
  ];
}

function way(name: string, latency: string | null, parameters: Way['parameters']): Way {
  return latency === null
    ? { name, parameters }
    : { name: `${name}, latency ${latency}`, parameters: { ...parameters, latency_mode: latency } };
}

function numbersOf({ set, answers }: Evaluated) {
  return {
    name: set.name,
    documents: set.documents.length,
    questions: set.questions.length,
    ways: answers.map(({ way, ...values }) => ({
      name: way.name,
      parameters: way.parameters,
      ndcg_at_10: estimate(values.ndcg),
      mrr_at_10: estimate(values.mrr),
      recall_at_100: estimate(values.recall),
      ndcg_gain: gain(values.ndcg, answers[0]!.ndcg),
    })),
  };
}

function show({ terminal }: CommandContext, evaluated: readonly Evaluated[]): void {
  const compared = (evaluated[0]?.answers.length ?? 0) > 1;
  const headings = ['Set', '>Documents', '>Questions', 'Asked with', '>nDCG@10', '>MRR@10', '>Recall@100'];
  const rows = evaluated.flatMap(({ set, answers }) =>
    answers.map((one, i) => [
      ...(i > 0 ? ['', '', ''] : [set.name, String(set.documents.length), String(set.questions.length)]),
      one.way.name,
      ...[one.ndcg, one.mrr, one.recall].map((values) => words(estimate(values))),
      ...(compared ? [i === 0 ? '' : signed(gain(one.ndcg, answers[0]!.ndcg))] : []),
    ]),
  );
  const means = evaluated.length === 1 ? [] : meanRows(evaluated, compared);
  table([...headings, ...(compared ? ['>nDCG gained'] : [])], [...rows, ...means]).forEach(terminal.out);
  terminal.out('');
  terminal.out('Behind ±: half of the 95 % confidence interval over the questions of the set.');
}

/** Every set counts the same, however many questions it has. */
function meanRows(evaluated: readonly Evaluated[], compared: boolean): string[][] {
  const over = (valuesOf: (one: Evaluated) => readonly number[]) =>
    evaluated.reduce((sum, one) => sum + estimate(valuesOf(one)).mean, 0) / evaluated.length;
  const first = over(({ answers }) => answers[0]!.ndcg);
  return (evaluated[0]?.answers ?? []).map(({ way }, i) => {
    const mean = (['ndcg', 'mrr', 'recall'] as const).map((name) => over(({ answers }) => answers[i]![name]));
    return [
      ...[i > 0 ? '' : 'mean', '', '', way.name],
      ...mean.map((value) => value.toFixed(4)),
      ...(compared ? [i === 0 ? '' : signed({ mean: mean[0]! - first, margin: null })] : []),
    ];
  });
}

function words({ mean, margin }: Estimate): string {
  return margin === null ? mean.toFixed(4) : `${mean.toFixed(4)} ±${margin.toFixed(4)}`;
}

function signed(estimated: Estimate): string {
  return `${estimated.mean < 0 ? '' : '+'}${words(estimated)}`;
}
