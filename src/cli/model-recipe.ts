import { AppError } from '../core/app-error.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { integerOption } from './option-values.ts';
import type { RecipeEngine } from './serve-recipes.ts';

const engines: readonly RecipeEngine[] = ['vllm', 'tei', 'llama'];

export const serveRecipeCommand: CommandSpec = {
  usage: 'models serve-recipe <model>',
  settings: 'none',
  summary:
    'print the command that serves the open weights of zembed-1 or zerank-2 in a model service, and the settings of Quarry for it',
  options: [
    { flags: '--with <engine>', meaning: 'model service: vLLM, TEI or llama.cpp', choices: engines },
    { flags: '--host <address>', meaning: 'address on which the service listens', default: '127.0.0.1' },
    { flags: '--port <number>', meaning: 'its port; default: 8001 for zembed-1, 8002 for zerank-2' },
    { flags: '--weights <folder>', meaning: 'folder with the weights; default: the repository of the hub' },
    { flags: '--revision <commit>', meaning: 'commit of the repository; default: the newest' },
    { flags: '--gguf <file>', meaning: 'converted weights, for llama.cpp' },
    { flags: '--projections <file>', meaning: 'projections.safetensors of zembed-1, for shorter vectors' },
    jsonOption,
  ],
  examples: [
    'quarry models serve-recipe zembed-1 --with vllm',
    'quarry models serve-recipe zembed-1 --with llama --gguf zembed-1.gguf --projections projections.safetensors',
    'quarry models serve-recipe zerank-2 --with vllm --port 9000',
  ],
  run: printRecipe,
};

async function printRecipe(
  { terminal }: CommandContext,
  [model = '']: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { createRecipe, toShellScript } = await import('./serve-recipes.ts');
  if (options.with === undefined)
    throw new AppError('bad_request', `Choose the model service: --with ${engines.join(', --with ')}.`);
  const text = (name: string) => (options[name] === undefined ? null : String(options[name]));
  const port =
    options.port === undefined ? null : integerOption(options, 'port', { minimum: 1, maximum: 65_535 });
  const recipe = createRecipe(model, options.with as RecipeEngine, {
    host: String(options.host),
    port,
    weights: text('weights'),
    revision: text('revision'),
    gguf: text('gguf'),
    projections: text('projections'),
  });
  if (options.json === true) terminal.out(JSON.stringify(recipe));
  else for (const line of toShellScript(recipe)) terminal.out(line);
  return exitCodes.done;
}
