import { join } from 'node:path';
import type { InputType } from '../../src/models/model.ts';
import { OnnxSession } from '../../src/models/onnx-session.ts';
import { readStaticEmbedding } from '../../src/models/static-embedder.ts';
import type { WordPiece } from '../../src/text/wordpiece.ts';

/** Static embedding computed by its ONNX graph: native/text must produce identical bytes. */
export class GraphEmbedder {
  readonly #session: OnnxSession;
  readonly #tokenizer: WordPiece;
  readonly #exponent: number;

  private constructor(session: OnnxSession, tokenizer: WordPiece, exponent: number) {
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.#exponent = exponent;
  }

  static async open(folder: string): Promise<GraphEmbedder> {
    const { config, pieces: tokenizer } = await readStaticEmbedding(folder);
    const session = await OnnxSession.open(join(folder, 'model.onnx'));
    return new GraphEmbedder(session, tokenizer, config.repetitionExponent);
  }

  embed(text: string, type: InputType): Promise<Float32Array> {
    const counts = new Map<number, number>();
    for (const id of this.#tokenizer.encode(text)) counts.set(id, (counts.get(id) ?? 0) + 1);
    const weights = Array.from(counts.values(), (count) => count ** this.#exponent);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const shape = [counts.size];
    const inputs = {
      tokens: { data: Int32Array.from(counts.keys()), shape },
      shares: { data: Float32Array.from(weights, (weight) => weight / total), shape },
      rows: { data: new Int32Array(counts.size), shape },
      kinds: { data: Int32Array.of(type === 'query' ? 0 : 1), shape: [1] },
    };
    return this.#session.run(inputs, 'vectors');
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
