import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeModel, type NodeDescription, toBytes } from '../../models/train/onnx.ts';
import { OnnxSession } from '../../src/models/onnx-session.ts';
import { cacheFolder } from '../vectors/vector-dataset.ts';
import { randomStream } from './random.ts';

/** Name of the model on the server. */
export const slowModel = 'slow';

const width = 64;
/** Rows and columns of the multiplied matrix. */
const side = 192;
const stepsMax = 2_000;
const trialRuns = 60;

const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const pieces = [
  '[PAD]',
  '[UNK]',
  ...letters,
  ...letters.map((letter) => `##${letter}`),
  'th',
  'er',
  'in',
  'an',
];

/** Tokenizer for text of Latin letters, without special tokens around it. */
const tokenizer = {
  version: '1.0',
  added_tokens: [],
  normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: null,
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
  },
};

/**
 * Builds a graph that outputs vectors of letters and computes `steps` matrix products per text, which do not
 * affect the result. Texts in one run take as long as one after the other, like a transformer on a CPU.
 */
function buildGraph(steps: number): Uint8Array {
  const random = randomStream(1);
  const floats = (count: number, most: number) =>
    toBytes(Float32Array.from({ length: count }, () => most * (random() - 0.5)));
  const multiplications = Array.from(
    { length: steps },
    (_, i): NodeDescription => ({ operator: 'MatMul', inputs: [`p${i}`, 'matrix'], outputs: [`p${i + 1}`] }),
  );
  return encodeModel({
    name: 'slow',
    documentation: 'a model with a configured duration',
    constants: [
      { name: 'table', type: 'float', shape: [pieces.length, width], data: floats(pieces.length * width, 2) },
      { name: 'matrix', type: 'float', shape: [side, side], data: floats(side * side, Math.sqrt(12 / side)) },
      { name: 'nothing', type: 'float', shape: [], data: toBytes(Float32Array.of(1e-30)) },
    ],
    inputs: [{ name: 'input_ids', type: 'int64', shape: ['texts', 'tokens'] }],
    outputs: [{ name: 'last_hidden_state', type: 'float', shape: ['texts', 'tokens', width] }],
    nodes: [
      { operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['rows'] },
      // A matrix per text: an operation that depends on the input cannot be precomputed when the model is
      // loaded.
      {
        operator: 'ReduceMax',
        inputs: ['rows'],
        outputs: ['most'],
        attributes: { axes: [1, 2], keepdims: 1 },
      },
      { operator: 'Mul', inputs: ['matrix', 'most'], outputs: ['p0'] },
      ...multiplications,
      {
        operator: 'ReduceMean',
        inputs: [`p${steps}`],
        outputs: ['mean'],
        attributes: { axes: [1, 2], keepdims: 1 },
      },
      { operator: 'Mul', inputs: ['mean', 'nothing'], outputs: ['zero'] },
      { operator: 'Add', inputs: ['rows', 'zero'], outputs: ['last_hidden_state'] },
    ],
  });
}

/** Returns CPU milliseconds per text. Nothing else may run in this process at the same time. */
async function measureMs(path: string): Promise<number> {
  const session = await OnnxSession.open(path);
  try {
    const ids = { data: BigInt64Array.from({ length: 8 }, (_, i) => BigInt(i + 2)), shape: [1, 8] };
    const run = () => session.run({ input_ids: ids }, 'last_hidden_state');
    await run();
    const before = process.cpuUsage();
    for (let i = 0; i < trialRuns; i += 1) await run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / trialRuns;
  } finally {
    await session.close();
  }
}

/**
 * Creates a model that takes about `ms` milliseconds of one core of this machine per text, independent of its
 * length. It is recreated for each run, because the speed of a machine varies. Returns its folder and its
 * measured time.
 */
export async function makeSlowModel(ms: number): Promise<{ readonly folder: string; readonly ms: number }> {
  const folder = join(cacheFolder, 'slow-model');
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'config.json'),
    JSON.stringify({ model_type: 'slow', max_position_embeddings: 512 }),
  );
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const path = join(folder, 'model.onnx');
  let steps = 8;
  let measuredMs = 0;
  for (let round = 0; round < 4; round += 1) {
    await writeFile(path, buildGraph(steps));
    measuredMs = await measureMs(path);
    if (Math.abs(measuredMs - ms) < 0.03 * ms) break;
    steps = Math.min(stepsMax, Math.max(1, Math.round((steps * ms) / measuredMs)));
  }
  return { folder, ms: measuredMs };
}
