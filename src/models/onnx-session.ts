import { InferenceSession, Tensor } from 'onnxruntime-node';
import { assert } from '../base/assert.ts';

/** The elements of a graph's input, row-major. */
export interface OnnxInput {
  readonly data: Float32Array | Int32Array;
  readonly shape: readonly number[];
}

/** One loaded ONNX graph on the CPU, one thread. The only door to onnxruntime; `run` blocks the calling thread. */
export class OnnxSession {
  readonly #session: InferenceSession;
  #closed = false;

  private constructor(session: InferenceSession) {
    this.#session = session;
  }

  /** Loads the graph at `path`; files it refers to lie beside it. */
  static async open(path: string): Promise<OnnxSession> {
    const session = await InferenceSession.create(path, {
      executionProviders: ['cpu'],
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      enableMemPattern: false,
      logSeverityLevel: 3,
    });
    return new OnnxSession(session);
  }

  /** Runs the graph and returns the elements of its float output `output`. */
  async run(inputs: Readonly<Record<string, OnnxInput>>, output: string): Promise<Float32Array> {
    assert(!this.#closed, 'a closed model is not run');
    const feeds: Record<string, Tensor> = {};
    for (const [name, { data, shape }] of Object.entries(inputs)) {
      feeds[name] =
        data instanceof Float32Array ? new Tensor('float32', data, shape) : new Tensor('int32', data, shape);
    }
    const results = await this.#session.run(feeds, [output]);
    const data = results[output]?.data;
    assert(data instanceof Float32Array, `the model answers "${output}" with floats`);
    return data;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#session.release();
  }
}
