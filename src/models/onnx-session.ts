import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { assert } from '../core/assert.ts';
import { decodeHalfFloats } from './half-floats.ts';

/** Elements of a graph input, row-major. */
export interface OnnxInput {
  readonly data: Float32Array | Int32Array | BigInt64Array;
  readonly shape: readonly number[];
}

export interface OnnxOutput {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** An input or output of a graph; a dynamic dimension is -1 or a name. */
export interface OnnxValueInfo {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly (number | string)[];
}

export interface OnnxSessionOptions {
  /** Threads of one run; 1 if many sessions run in parallel. */
  readonly threads?: number;
  /** onnxruntime names of execution providers, the preferred one first. */
  readonly executionProviders?: readonly string[];
}

/**
 * One loaded ONNX graph. The only user of onnxruntime, which is imported with the first graph. `run` blocks
 * the calling thread.
 */
export class OnnxSession {
  readonly #session: InferenceSession;
  readonly #tensor: typeof Tensor;
  #closed = false;

  private constructor(session: InferenceSession, tensor: typeof Tensor) {
    this.#session = session;
    this.#tensor = tensor;
  }

  /** Loads the graph at `path`; external data files must be in the same folder. */
  static async open(path: string, options: OnnxSessionOptions = {}): Promise<OnnxSession> {
    const { InferenceSession, Tensor } = await import('onnxruntime-node');
    const session = await InferenceSession.create(path, {
      executionProviders: [...(options.executionProviders ?? ['cpu'])],
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      intraOpNumThreads: options.threads ?? 1,
      interOpNumThreads: 1,
      enableMemPattern: false,
      logSeverityLevel: 3,
    });
    return new OnnxSession(session, Tensor);
  }

  get inputs(): readonly OnnxValueInfo[] {
    return toValueInfos(this.#session.inputMetadata);
  }

  get outputs(): readonly OnnxValueInfo[] {
    return toValueInfos(this.#session.outputMetadata);
  }

  /** Runs the graph and returns the elements of its float output `output`. */
  async run(inputs: Readonly<Record<string, OnnxInput>>, output: string): Promise<Float32Array> {
    return (await this.runWithShape(inputs, output)).data;
  }

  /**
   * Same as `run`, with the shape; half floats are converted to floats. Errors: Error if the output is not a
   * float tensor.
   */
  async runWithShape(inputs: Readonly<Record<string, OnnxInput>>, output: string): Promise<OnnxOutput> {
    assert(!this.#closed, 'the ONNX session is open');
    const feeds = Object.fromEntries(
      Object.entries(inputs).map(([name, input]) => [name, this.#toTensor(input)]),
    );
    const results = await this.#session.run(feeds, [output]);
    const tensor = results[output];
    if (tensor?.type === 'float32') return { data: tensor.data as Float32Array, shape: tensor.dims };
    if (tensor?.type === 'float16')
      return { data: decodeHalfFloats(tensor.data as Uint16Array), shape: tensor.dims };
    throw new Error(`output "${output}" has type ${tensor?.type ?? 'unknown'}; expected float`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#session.release();
  }

  #toTensor({ data, shape }: OnnxInput): Tensor {
    const TensorClass = this.#tensor;
    if (data instanceof Float32Array) return new TensorClass('float32', data, shape);
    return data instanceof Int32Array
      ? new TensorClass('int32', data, shape)
      : new TensorClass('int64', data, shape);
  }
}

function toValueInfos(metadata: InferenceSession['inputMetadata']): OnnxValueInfo[] {
  return metadata.map((port) =>
    port.isTensor
      ? { name: port.name, type: port.type, shape: port.shape }
      : { name: port.name, type: 'no tensor', shape: [] },
  );
}
