import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import type { Activation, DenseFile } from './local-model.ts';
import { readTensors } from './safetensors.ts';

const activations: Readonly<Record<Activation, (value: number) => number>> = {
  identity: (value) => value,
  tanh: Math.tanh,
  relu: (value) => Math.max(0, value),
  sigmoid: (value) => 1 / (1 + Math.exp(-value)),
};

/** Dense layer after the pooling: activation(weight x vector + bias). */
export class DenseLayer {
  readonly inputs: number;
  readonly outputs: number;
  readonly #weight: Float32Array;
  readonly #bias: Float32Array | null;
  readonly #activate: (value: number) => number;

  private constructor(
    weight: Float32Array,
    bias: Float32Array | null,
    shape: readonly number[],
    activation: Activation,
  ) {
    this.outputs = shape[0]!;
    this.inputs = shape[1]!;
    this.#weight = weight;
    this.#bias = bias;
    this.#activate = activations[activation];
  }

  /** Reads the layer from `folder`. Errors: AppError that names the file if it cannot be used. */
  static async open(folder: string, { file, activation }: DenseFile): Promise<DenseLayer> {
    const path = join(folder, file);
    try {
      const tensors = await readTensors(path);
      const weight = tensors.get('linear.weight');
      const bias = tensors.get('linear.bias')?.data ?? null;
      if (weight?.shape.length !== 2) throw new Error('the matrix "linear.weight" is missing');
      if (bias !== null && bias.length !== weight.shape[0])
        throw new Error('"linear.bias" does not match the matrix');
      return new DenseLayer(weight.data, bias, weight.shape, activation);
    } catch (cause) {
      throw new AppError('invalid', `${path} cannot be used: ${(cause as Error).message}.`, { cause });
    }
  }

  /** Applies the layer to one vector. Errors: Error if the length of the vector is not `inputs`. */
  apply(vector: Float32Array): Float32Array {
    const { inputs, outputs } = this;
    if (vector.length !== inputs)
      throw new Error(`dense layer expects ${inputs} dimensions, got ${vector.length}`);
    const output = new Float32Array(outputs);
    for (let row = 0; row < outputs; row += 1) {
      let sum = this.#bias?.[row] ?? 0;
      for (let i = 0; i < inputs; i += 1) sum += this.#weight[row * inputs + i]! * vector[i]!;
      output[row] = this.#activate(sum);
    }
    return output;
  }
}
