import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { readJsonFile } from './json-file.ts';
import type { Activation, DenseFile, Pooling } from './local-model.ts';

/** Pooling and dense layers that a sentence-transformers folder defines. */
export interface SentenceModules {
  readonly pooling: Exclude<Pooling, 'none'>;
  /** Whether the tokens of a prompt count in the pooling. */
  readonly includesPrompt: boolean;
  readonly layers: readonly DenseFile[];
}

type Json = Readonly<Record<string, unknown>>;

const poolingByField: Readonly<Record<string, SentenceModules['pooling']>> = {
  pooling_mode_cls_token: 'cls',
  pooling_mode_lasttoken: 'last',
  pooling_mode_max_tokens: 'max',
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_mean_sqrt_len_tokens: 'mean-sqrt-length',
  pooling_mode_weightedmean_tokens: 'weighted-mean',
};
const activations: Readonly<Record<string, Activation>> = {
  Identity: 'identity',
  Tanh: 'tanh',
  ReLU: 'relu',
  Sigmoid: 'sigmoid',
};
const defaultPoolingFolder = '1_Pooling';

/**
 * Reads `modules.json` and the folders it names; without them, the pooling is the mean. Errors: AppError that
 * names an unknown module.
 */
export async function readSentenceModules(folder: string): Promise<SentenceModules> {
  const list = await readJsonFile(join(folder, 'modules.json'));
  if (list === null) return { ...(await readPooling(folder, defaultPoolingFolder)), layers: [] };
  if (!Array.isArray(list)) throw modelFileError(folder, 'modules.json', 'is not a list of modules');
  const layers: DenseFile[] = [];
  let pooling: Pick<SentenceModules, 'pooling' | 'includesPrompt'> = {
    pooling: 'mean',
    includesPrompt: true,
  };
  for (const entry of list as readonly Json[]) {
    const type = String(entry?.type ?? '')
      .split('.')
      .at(-1)!;
    const path = String(entry?.path ?? '');
    if (path.startsWith('/') || path.split('/').includes('..'))
      throw modelFileError(
        folder,
        'modules.json',
        `refers to ${JSON.stringify(path)}, which is outside the model folder`,
      );
    if (type === 'Pooling') pooling = await readPooling(folder, path);
    else if (type === 'Dense') layers.push(await readDense(folder, path));
    // Vectors are always scaled to length 1; prompts and token limits are read from other files.
    else if (type !== 'Normalize' && type !== 'Transformer')
      throw modelFileError(
        folder,
        'modules.json',
        `uses the unsupported module ${JSON.stringify(type)}. Supported: Transformer, Pooling, Dense, Normalize. Alternatively add an ONNX export that includes all modules and has the output "sentence_embedding"`,
      );
  }
  return { ...pooling, layers };
}

async function readPooling(
  folder: string,
  path: string,
): Promise<Pick<SentenceModules, 'pooling' | 'includesPrompt'>> {
  const name = join(path, 'config.json');
  const config = (await readJsonFile(join(folder, name))) as Json | null;
  if (config === null && path === defaultPoolingFolder) return { pooling: 'mean', includesPrompt: true };
  if (config === null) throw modelFileError(folder, name, 'is missing');
  const enabledFields = Object.keys(config).filter(
    (key) => key.startsWith('pooling_mode_') && config[key] === true,
  );
  const poolings = enabledFields.map((key) => poolingByField[key]);
  const [pooling] = poolings;
  if (enabledFields.length === 0)
    throw modelFileError(folder, name, 'enables no pooling mode (no pooling_mode_* is true)');
  if (enabledFields.length > 1 || pooling === undefined)
    throw modelFileError(
      folder,
      name,
      `uses unsupported pooling: ${enabledFields.join(' and ')}. Supported: ${Object.keys(poolingByField).join(', ')}. Override it with --pooling`,
    );
  return { pooling, includesPrompt: config.include_prompt !== false };
}

async function readDense(folder: string, path: string): Promise<DenseFile> {
  const name = join(path, 'config.json');
  const config = (await readJsonFile(join(folder, name))) as Json | null;
  if (config === null) throw modelFileError(folder, name, 'is missing');
  const activationName = String(config.activation_function ?? 'Identity')
    .split('.')
    .at(-1)!;
  const activation = activations[activationName];
  if (activation === undefined)
    throw modelFileError(
      folder,
      name,
      `uses the unsupported activation ${JSON.stringify(activationName)}. Supported: ${Object.keys(activations).join(', ')}`,
    );
  const file = join(path, 'model.safetensors');
  if (await fileExists(join(folder, file))) return { file, activation };
  const other = join(path, 'pytorch_model.bin');
  if (await fileExists(join(folder, other)))
    throw modelFileError(
      folder,
      other,
      'is a Python pickle, which is not supported. Save the model as safetensors, or export it to ONNX with the layer included',
    );
  throw modelFileError(folder, file, 'is missing');
}

function fileExists(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function modelFileError(folder: string, file: string, reason: string): AppError {
  return new AppError('invalid', `${join(folder, file)} ${reason}.`);
}
