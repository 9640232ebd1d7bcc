import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';
import { toUnitPrefix } from './dimensions.ts';
import { type NamedTensor, readTensors } from './safetensors.ts';

/** Matrix [inputs x outputs], in row-major order. */
interface Projection {
  readonly inputs: number;
  readonly outputs: number;
  readonly data: Float32Array;
}

const fileBytesMax = 256 * 1_048_576;
const projectionsMax = 64;

/**
 * Learned matrices that shorten the vectors of a model whose prefixes are not usable on their own. Each one
 * converts vectors of the next larger length to its own; several are multiplied for a shorter vector.
 */
export class VectorProjections {
  /** Length of the vectors of the model. */
  readonly width: number;
  /** Lengths that the file offers, longest first, without `width`. */
  readonly dimensions: readonly number[];
  /** SHA-256 of the file: other matrices give other vectors. */
  readonly fingerprint: string;
  readonly #projections: readonly Projection[];

  private constructor(projections: readonly Projection[], fingerprint: string) {
    this.#projections = projections;
    this.width = projections[0]!.inputs;
    this.dimensions = projections.map(({ outputs }) => outputs);
    this.fingerprint = fingerprint;
  }

  /** Reads a safetensors file whose keys are lengths of vectors. Errors: AppError that names the file and its defect. */
  static async open(path: string): Promise<VectorProjections> {
    try {
      const { size } = await stat(path);
      if (size > fileBytesMax) throw new Error(`it has ${size} bytes, the maximum is ${fileBytesMax}`);
      const fingerprint = createHash('sha256')
        .update(await readFile(path))
        .digest('hex');
      return new VectorProjections(orderProjections(await readTensors(path)), fingerprint);
    } catch (cause) {
      throw new AppError('invalid', `${path} cannot be used: ${(cause as Error).message}.`, { cause });
    }
  }

  /**
   * Returns the vector with `dimensions` components, which are the length of the vector or one of `this.dimensions`
   * below it, scaled to length 1; undefined if its length is zero or not finite.
   */
  apply(vector: Float32Array, dimensions: number): Float32Array | undefined {
    let row = vector;
    for (const projection of this.#projections) {
      if (projection.outputs < dimensions) break;
      if (projection.inputs === row.length) row = multiply(row, projection);
    }
    return toUnitPrefix(row, dimensions);
  }
}

/** Checks that the matrices lead to ever smaller lengths. Errors: Error that names the matrix. */
function orderProjections(tensors: ReadonlyMap<string, NamedTensor>): readonly Projection[] {
  const names = [...tensors.keys()];
  const unknown = names.find((name) => !/^[1-9]\d{0,4}$/.test(name));
  if (unknown !== undefined) throw new Error(`"${unknown}" is not a number of dimensions`);
  if (names.length === 0 || names.length > projectionsMax)
    throw new Error(`it has ${names.length} matrices, 1 to ${projectionsMax} are supported`);
  const sizes = names.map(Number).sort((a, b) => b - a);
  let inputs = tensors.get(String(sizes[0]))!.shape[0] ?? 0;
  return sizes.map((outputs) => {
    const { shape, data } = tensors.get(String(outputs))!;
    if (outputs >= inputs || shape.length !== 2 || shape[0] !== inputs || shape[1] !== outputs)
      throw new Error(`the matrix "${outputs}" is ${shape.join(' x ')} instead of ${inputs} x ${outputs}`);
    const projection = { inputs, outputs, data };
    inputs = outputs;
    return projection;
  });
}

/** Returns row x matrix. Sums are doubles, as in `DenseLayer`. */
function multiply(row: Float32Array, { inputs, outputs, data }: Projection): Float32Array {
  const sums = new Float64Array(outputs);
  for (let i = 0; i < inputs; i += 1) {
    const factor = row[i]!;
    const start = i * outputs;
    for (let j = 0; j < outputs; j += 1) sums[j]! += factor * data[start + j]!;
  }
  return Float32Array.from(sums);
}
