import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Settings } from '../config/schema.ts';
import type { LocalModel } from '../models/local-model.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption, yesOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { searchModelsCommand } from './model-catalog.ts';
import { modelDoctorCommand } from './model-doctor.ts';
import { describeAddedModel, modelOptions, readModelOptions, reloadNote } from './model-options.ts';
import { pullModelCommand } from './model-pull.ts';
import { serveRecipeCommand } from './model-recipe.ts';
import { printTable } from './terminal.ts';
import { toPrintable } from './text-layout.ts';

/** Commands for added models in the data directory. They need no server; a running server reloads the models. */

export const modelCommands: readonly CommandSpec[] = [
  searchModelsCommand,
  pullModelCommand,
  serveRecipeCommand,
  modelDoctorCommand,
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
    summary:
      'test an ONNX model from a Hugging Face folder, or from a bundle of `quarry models pull --to`, and add it to the data directory',
    options: [
      {
        flags: '--name <name>',
        meaning: 'name of the model; default: the name of the folder, or that in the bundle',
      },
      ...modelOptions,
      jsonOption,
    ],
    examples: [
      'quarry models add ~/models/bge-small-en-v1.5',
      'quarry models add ~/models/nomic --graph onnx/model_int8.onnx --dimensions 256',
      'quarry models add small-english.tar',
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
  const path = resolve(args[0]!);
  const { data } = context.loaded.settings;
  const isBundle = (await stat(path).catch(() => null))?.isFile() === true;
  const model = await (isBundle ? addBundle(data, path, options) : addFolder(data, path, options));
  if (options.json === true) context.terminal.out(JSON.stringify(model));
  else for (const line of describeAddedModel(model)) context.terminal.out(line);
  return exitCodes.done;
}

async function addFolder(data: string, folder: string, options: CommandOptions): Promise<LocalModel> {
  const { addModel } = await import('../models/added-models.ts');
  return addModel(data, folder, readModelOptions(options, { name: basename(folder) }));
}

/** Extracts the bundle beside the models, because the temporary folder may be small. */
async function addBundle(data: string, path: string, options: CommandOptions): Promise<LocalModel> {
  const [{ addModel }, { extractBundle }] = await Promise.all([
    import('../models/added-models.ts'),
    import('./hub/bundle.ts'),
  ]);
  const models = join(data, 'models');
  await mkdir(models, { recursive: true });
  const folder = await mkdtemp(join(models, '.bundle-'));
  try {
    const { name, graph, source } = await extractBundle(path, folder);
    return await addModel(data, folder, readModelOptions(options, { name, graph, source }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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
