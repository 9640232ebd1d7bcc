import type { ModelOverrides } from '../models/inspect-model-folder.ts';
import type { LocalModel } from '../models/local-model.ts';
import type { CommandOptions, OptionSpec } from './command.ts';
import { integerOption } from './option-values.ts';
import { toPrintable } from './text-layout.ts';

/** Options of commands that add a model. */
export const modelOptions: readonly OptionSpec[] = [
  {
    flags: '--kind <kind>',
    meaning: 'kind of the model, if it cannot be detected from the folder',
    choices: ['embedding', 'reranker'],
  },
  { flags: '--graph <file>', meaning: 'file of the graph, for example onnx/model_int8.onnx' },
  {
    flags: '--pooling <method>',
    meaning: 'pooling of the token vectors',
    choices: ['mean', 'cls', 'last', 'max', 'mean-sqrt-length', 'weighted-mean'],
  },
  { flags: '--dimensions <count>', meaning: 'truncate the vectors to this length (Matryoshka models)' },
  { flags: '--tokens <count>', meaning: 'maximum input in tokens; longer texts are truncated' },
  { flags: '--query-prompt <text>', meaning: 'prefix of queries' },
  { flags: '--document-prompt <text>', meaning: 'prefix of document texts' },
  {
    flags: '--template <text>',
    meaning: 'prompt of yes/no rerankers, with {query} and {document}',
  },
];

/** Origin of a model, and defaults for options that are absent. */
export interface ModelOrigin {
  readonly name: string;
  readonly graph?: string;
  /** Absent: the folder. */
  readonly source?: string;
}

/** Returns the properties of a new model. Errors: AppError `bad_request` for invalid options. */
export function readModelOptions(options: CommandOptions, origin: ModelOrigin): ModelOverrides {
  const text = (name: string) => options[name] as string | undefined;
  const number = (name: string, maximum: number) =>
    options[name] === undefined ? undefined : integerOption(options, name, { minimum: 1, maximum });
  return {
    id: text('name') ?? origin.name,
    kind: text('kind') as ModelOverrides['kind'],
    graph: text('graph') ?? origin.graph,
    pooling: text('pooling') as ModelOverrides['pooling'],
    dimensions: number('dimensions', 8_192),
    tokensMax: number('tokens', 131_072),
    queryPrompt: text('queryPrompt'),
    documentPrompt: text('documentPrompt'),
    template: text('template'),
    ...(origin.source === undefined ? {} : { source: origin.source }),
  };
}

export const reloadNote = 'A running server reloads its models within a second.';

/** Lines for the user after a model was added. */
export function describeAddedModel(model: LocalModel): string[] {
  const id = toPrintable(model.id);
  const description =
    model.kind === 'embedding'
      ? `${model.dimensions} dimensions, pooling ${model.pooling}`
      : `scores by ${model.head}`;
  const settingName = model.kind === 'embedding' ? 'QUARRY_EMBEDDING_MODEL' : 'QUARRY_RERANKER';
  return [
    `Added the ${model.kind} model ${id}: ${description}, ${model.tokensMax} tokens.`,
    `${reloadNote} ${settingName}=${id} makes it the default.`,
  ];
}
