import type { CommandSpec } from './command.ts';
import { jsonOption, yesOption } from './command.ts';
import { catalogOption } from './model-catalog.ts';
import { modelOptions } from './model-options.ts';

export const pullModelCommand: CommandSpec = {
  usage: 'models pull <model>',
  settings: 'server',
  summary:
    'download an ONNX model of the catalog or of the Hugging Face hub, verify and test it, and add it to the data directory; the server itself never downloads models',
  options: [
    { flags: '--name <name>', meaning: 'name of the model; default: that of the catalog or the repository' },
    {
      flags: '--to <file>',
      meaning: 'write a bundle for `quarry models add` on a machine without internet, and add nothing here',
    },
    catalogOption,
    ...modelOptions,
    yesOption,
    jsonOption,
  ],
  examples: [
    'quarry models pull hf:organization/name@0123456789abcdef0123456789abcdef01234567',
    'quarry models pull hf:organization/name --graph onnx/model_int8.onnx --yes',
    'quarry models pull small-english --catalog models.json --to small-english.tar',
  ],
  interrupted: 'the downloaded part is kept; run the command again to continue',
  // Loaded when it is used: with the client of the hub it takes .2 s of CPU time.
  run: async (context, args, options) => (await import('./hub/pull.ts')).pull(context, args, options),
};
