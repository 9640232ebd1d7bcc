import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import type { InferenceOptions } from './local-model.ts';
import { type OnnxInput, type OnnxOutput, OnnxSession, type OnnxValueInfo } from './onnx-session.ts';
import type { TokenInput } from './text-tokenizer.ts';

/** Inputs of one run, the longest last, and their positions in the caller's list. */
export interface TokenBatch {
  readonly inputs: readonly TokenInput[];
  readonly positions: readonly number[];
}

/** Output rows of a run, and the token count of each input. */
export interface BatchOutput extends OnnxOutput {
  readonly lengths: readonly number[];
  readonly positions: readonly number[];
}

type InputFiller = (inputs: readonly TokenInput[], width: number) => bigint[];

/** Supported graph inputs. Padding is 0 in each of them and follows the text. */
const inputFillers: Readonly<Record<string, InputFiller>> = {
  input_ids: (inputs, width) => padInputs(inputs, width, ({ ids }, i) => ids[i]!),
  attention_mask: (inputs, width) => padInputs(inputs, width, () => 1),
  token_type_ids: (inputs, width) => padInputs(inputs, width, ({ types }, i) => types[i]!),
  position_ids: (inputs, width) => padInputs(inputs, width, (_, i) => i),
};

function padInputs(
  inputs: readonly TokenInput[],
  width: number,
  value: (input: TokenInput, i: number) => number,
): bigint[] {
  return inputs.flatMap((input) =>
    Array.from({ length: width }, (_, i) => (i < input.ids.length ? BigInt(value(input, i)) : 0n)),
  );
}

/** A graph over tokens, as exported from transformers. */
export class TokenGraph {
  readonly #session: OnnxSession;
  readonly #batchTokens: number;

  private constructor(session: OnnxSession, batchTokens: number) {
    this.#session = session;
    this.#batchTokens = batchTokens;
  }

  /** Loads a graph. Errors: AppError that names the file if it cannot be loaded or has an unsupported input. */
  static async open(folder: string, graph: string, run: InferenceOptions): Promise<TokenGraph> {
    const path = join(folder, graph);
    let session: OnnxSession;
    try {
      session = await OnnxSession.open(path, run);
    } catch (cause) {
      throw new AppError('invalid', `${path} cannot be loaded: ${(cause as Error).message}.`, { cause });
    }
    const unknown = session.inputs.find(
      ({ name, type }) => inputFillers[name] === undefined || !/^int(32|64)$/.test(type),
    );
    if (unknown === undefined) return new TokenGraph(session, run.batchTokens);
    await session.close();
    throw new AppError(
      'invalid',
      `${path} has the unsupported input "${unknown.name}" (${unknown.type}). Supported integer inputs: ${Object.keys(inputFillers).join(', ')}.`,
    );
  }

  get outputs(): readonly OnnxValueInfo[] {
    return this.#session.outputs;
  }

  /**
   * Groups inputs of similar length into batches of at most `batchTokens` tokens, padding included. Inputs
   * without tokens are skipped.
   */
  *batches(inputs: readonly TokenInput[]): Generator<TokenBatch> {
    const order = [...inputs.keys()].filter((i) => inputs[i]!.ids.length > 0);
    order.sort((a, b) => inputs[a]!.ids.length - inputs[b]!.ids.length);
    let positions: number[] = [];
    for (const position of order) {
      const width = inputs[position]!.ids.length;
      if (positions.length > 0 && (positions.length + 1) * width > this.#batchTokens) {
        yield { positions, inputs: positions.map((i) => inputs[i]!) };
        positions = [];
      }
      positions.push(position);
    }
    if (positions.length > 0) yield { positions, inputs: positions.map((i) => inputs[i]!) };
  }

  async run({ inputs, positions }: TokenBatch, output: string): Promise<BatchOutput> {
    const lengths = inputs.map(({ ids }) => ids.length);
    const width = Math.max(1, ...lengths);
    const feeds: Record<string, OnnxInput> = {};
    for (const { name, type } of this.#session.inputs) {
      const values = inputFillers[name]!(inputs, width);
      const data = type === 'int64' ? BigInt64Array.from(values) : Int32Array.from(values, Number);
      feeds[name] = { data, shape: [inputs.length, width] };
    }
    return { ...(await this.#session.runWithShape(feeds, output)), lengths, positions };
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
