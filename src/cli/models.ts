import { basename, resolve } from 'node:path';
import type { Settings } from '../config/schema.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption, yesOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { searchModelsCommand } from './model-catalog.ts';
import { integerOption } from './option-values.ts';
import { printTable } from './terminal.ts';
import { toPrintable } from './text-layout.ts';

/** Commands for added models in the data directory. They need no server; a running server reloads the models. */

const reloadNote = 'A running server reloads its models within a second.';

export const modelCommands: readonly CommandSpec[] = [
  searchModelsCommand,
  {
    usage: 'models list',
    settings: 'server',
    summary: 'list the custom models',
    options: [jsonOption],
    examples: ['quarry models list'],
    run: list,
  },
  {
    usage: 'models add <folder>',
    settings: 'server',
    summary: 'test an ONNX model from a Hugging Face folder and add it to the data directory',
    options: [
      { flags: '--name <name>', meaning: 'name of the model; default: the name of the folder' },
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
      jsonOption,
    ],
    examples: [
      'quarry models add ~/models/bge-small-en-v1.5',
      'quarry models add ~/models/nomic --graph onnx/model_int8.onnx --dimensions 256',
    ],
    run: add,
  },
  {
    usage: 'models remove <name>',
    settings: 'server',
    summary: 'remove an unused custom model',
    options: [
      yesOption,
      {
        flags: '--force',
        meaning: 'also remove a model in use; its collections fall back to lexical search',
      },
      jsonOption,
    ],
    examples: ['quarry models remove bge-small-en-v1.5 --yes'],
    run: remove,
  },
  {
    usage: 'models test <name> [texts...]',
    settings: 'server',
    summary: 'run a custom model: score texts against a query and measure the time',
    options: [
      { flags: '--query <text>', meaning: 'the query', default: 'How long do refunds take?' },
      jsonOption,
    ],
    examples: [
      'quarry models test bge-small-en-v1.5 --query "salted fish" "herring in a barrel" "the tide turns"',
    ],
    run: test,
  },
];

const testTexts = ['Refunds are paid within 14 days of the return.', 'The gull sits on the harbor wall.'];

async function list(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { listAddedModels: listModels } = await import('../models/added-models.ts');
  const models = await listModels(context.loaded.settings.data);
  if (options.json === true) context.terminal.out(JSON.stringify({ models }));
  else if (models.length === 0)
    context.terminal.note('No custom models. The built-in models are always available.\n');
  else {
    const rows = models.map((model) => [
      toPrintable(model.id),
      model.kind,
      model.kind === 'embedding' ? String(model.dimensions) : '',
      model.kind === 'embedding' ? model.pooling : model.head,
      String(model.tokensMax),
      model.version,
    ]);
    printTable(context.terminal, ['name', 'kind', '>dimensions', 'input', '>tokens', 'version'], rows);
  }
  return exitCodes.done;
}

async function add(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { addModel } = await import('../models/added-models.ts');
  const folder = resolve(args[0]!);
  const text = (name: string) => options[name] as string | undefined;
  const number = (name: string, maximum: number) =>
    options[name] === undefined ? undefined : integerOption(options, name, { minimum: 1, maximum });
  const model = await addModel(context.loaded.settings.data, folder, {
    id: text('name') ?? basename(folder),
    kind: text('kind') as 'embedding' | 'reranker' | undefined,
    graph: text('graph'),
    pooling: text('pooling') as Parameters<typeof addModel>[2]['pooling'],
    dimensions: number('dimensions', 8_192),
    tokensMax: number('tokens', 131_072),
    queryPrompt: text('queryPrompt'),
    documentPrompt: text('documentPrompt'),
    template: text('template'),
  });
  if (options.json === true) {
    context.terminal.out(JSON.stringify(model));
    return exitCodes.done;
  }
  const description =
    model.kind === 'embedding'
      ? `${model.dimensions} dimensions, pooling ${model.pooling}`
      : `scores by ${model.head}`;
  const settingName = model.kind === 'embedding' ? 'QUARRY_EMBEDDING_MODEL' : 'QUARRY_RERANKER';
  context.terminal.out(
    `Added the ${model.kind} model ${toPrintable(model.id)}: ${description}, ${model.tokensMax} tokens.`,
  );
  context.terminal.out(`${reloadNote} ${settingName}=${toPrintable(model.id)} makes it the default.`);
  return exitCodes.done;
}

async function remove(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { getAddedModel: addedModel, removeModel } = await import('../models/added-models.ts');
  const { data } = context.loaded.settings;
  const { id } = await addedModel(data, args[0]!);
  if (options.yes !== true) {
    const isConfirmed = await context.terminal.confirm(`Remove the model ${toPrintable(id)}?`);
    if (isConfirmed !== true) {
      context.terminal.note(
        isConfirmed === null
          ? 'quarry: cannot ask for confirmation without a terminal; use --yes to skip it\n'
          : 'Nothing was removed.\n',
      );
      return isConfirmed === null ? exitCodes.usage : exitCodes.failed;
    }
  }
  await removeModel(data, id, { force: options.force === true });
  context.terminal.out(
    options.json === true ? JSON.stringify({ removed: id }) : `Removed ${toPrintable(id)}. ${reloadNote}`,
  );
  return exitCodes.done;
}

async function test(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { testModel: tryModel } = await import('../models/added-models.ts');
  const [id = '', ...texts] = args;
  const documents = texts.length === 0 ? testTexts : texts;
  const { settings } = context.loaded;
  const found = await tryModel(settings.data, id, {
    query: String(options.query),
    documents,
    run: toRunOptions(settings),
  });
  const scores = [...found.scores];
  if (options.json === true) {
    context.terminal.out(JSON.stringify({ scores, tokens: found.tokens, ms: found.ms }));
    return exitCodes.done;
  }
  const rows = documents.map((text, i) => [scores[i]!.toFixed(4), toPrintable(text)]);
  printTable(context.terminal, ['>score', 'text'], rows);
  context.terminal.out(`${found.tokens} tokens in ${found.ms.toFixed(1)} ms`);
  return exitCodes.done;
}

function toRunOptions({ modelThreads, modelBatchTokens, modelExecutionProviders }: Settings) {
  const executionProviders = modelExecutionProviders.split(',');
  return { threads: modelThreads, batchTokens: modelBatchTokens, executionProviders };
}
