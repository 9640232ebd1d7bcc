import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../base/app-error.ts';
import { readJsonFile } from './json-file.ts';
import type { Activation, DenseFile, Pooling } from './local-model.ts';

/** What a folder of sentence-transformers does with the vectors of tokens. */
export interface SentenceModules {
  readonly pooling: Exclude<Pooling, 'none'>;
  /** Whether the tokens of a prompt count in the pooling. */
  readonly includesPrompt: boolean;
  readonly layers: readonly DenseFile[];
}

type Json = Readonly<Record<string, unknown>>;

const noted: Readonly<Record<string, SentenceModules['pooling']>> = {
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
const usualFolder = '1_Pooling';

/** As `modules.json` and the folders it names say; without them the mean. An AppError names what is not understood. */
export async function readSentenceModules(folder: string): Promise<SentenceModules> {
  const list = await readJsonFile(join(folder, 'modules.json'));
  if (list === null) return { ...(await poolingOf(folder, usualFolder)), layers: [] };
  if (!Array.isArray(list)) throw refused(folder, 'modules.json', 'is no list of modules');
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
      throw refused(folder, 'modules.json', `names ${JSON.stringify(path)}, which is no folder inside`);
    if (type === 'Pooling') pooling = await poolingOf(folder, path);
    else if (type === 'Dense') layers.push(await denseOf(folder, path));
    // Vectors are scaled to length 1 whatever it says, and prompts and limits stand elsewhere.
    else if (type !== 'Normalize' && type !== 'Transformer')
      throw refused(
        folder,
        'modules.json',
        `asks for the module ${JSON.stringify(type)}; Transformer, Pooling, Dense and Normalize are known. An export to ONNX that has all of it inside, with the output "sentence_embedding", can be added`,
      );
  }
  return { ...pooling, layers };
}

async function poolingOf(
  folder: string,
  path: string,
): Promise<Pick<SentenceModules, 'pooling' | 'includesPrompt'>> {
  const name = join(path, 'config.json');
  const config = (await readJsonFile(join(folder, name))) as Json | null;
  if (config === null && path === usualFolder) return { pooling: 'mean', includesPrompt: true };
  if (config === null) throw refused(folder, name, 'is missing');
  const asked = Object.keys(config).filter((key) => key.startsWith('pooling_mode_') && config[key] === true);
  const known = asked.map((key) => noted[key]);
  const [pooling] = known;
  if (asked.length === 0)
    throw refused(folder, name, 'asks for a pooling that is none: no pooling_mode_ is true');
  if (asked.length > 1 || pooling === undefined)
    throw refused(
      folder,
      name,
      `asks for a pooling that is not known, ${asked.join(' and ')}; one of ${Object.keys(noted).join(', ')} is. --pooling names another`,
    );
  return { pooling, includesPrompt: config.include_prompt !== false };
}

async function denseOf(folder: string, path: string): Promise<DenseFile> {
  const name = join(path, 'config.json');
  const config = (await readJsonFile(join(folder, name))) as Json | null;
  if (config === null) throw refused(folder, name, 'is missing');
  const function_ = String(config.activation_function ?? 'Identity')
    .split('.')
    .at(-1)!;
  const activation = activations[function_];
  if (activation === undefined)
    throw refused(
      folder,
      name,
      `asks for the activation ${JSON.stringify(function_)}; known are ${Object.keys(activations).join(', ')}`,
    );
  const file = join(path, 'model.safetensors');
  if (await exists(join(folder, file))) return { file, activation };
  const other = join(path, 'pytorch_model.bin');
  if (await exists(join(folder, other)))
    throw refused(
      folder,
      other,
      'is in a format that only Python reads; save the model again as safetensors, or export it to ONNX with the layer inside',
    );
  throw refused(folder, file, 'is missing');
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function refused(folder: string, file: string, reason: string): AppError {
  return new AppError('invalid', `${join(folder, file)} ${reason}.`);
}
