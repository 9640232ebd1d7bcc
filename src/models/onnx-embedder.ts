import { unitPrefix } from './dimensions.ts';
import type { LocalEmbedding, PlacedModel, Pooling } from './local-model.ts';
import type { Embedder, Embeddings, InputType } from './model.ts';
import { TextTokenizer } from './text-tokenizer.ts';
import { type BatchAnswer, TokenGraph } from './token-graph.ts';

/** A transformer from a file: tokens, graph, pooling, the first components, length 1. */
export class OnnxEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly #model: LocalEmbedding;
  readonly #tokenizer: TextTokenizer;
  readonly #graph: TokenGraph;

  private constructor(model: LocalEmbedding, tokenizer: TextTokenizer, graph: TokenGraph) {
    this.id = model.id;
    this.dimensions = model.dimensions;
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#graph = graph;
  }

  static async open({ model, folder, run }: PlacedModel<LocalEmbedding>): Promise<OnnxEmbedder> {
    const tokenizer = await TextTokenizer.open(folder, model.tokensMax);
    return new OnnxEmbedder(model, tokenizer, await TokenGraph.open(folder, model.graph, run));
  }

  /** Rejects when the graph answers with another shape than `model` says, or with no number. */
  async embed(texts: readonly string[], inputType: InputType): Promise<Embeddings> {
    const { prompts, pooling, output } = this.#model;
    const inputs = texts.map((text) => this.#tokenizer.one(`${prompts[inputType]}${text}`));
    const vectors = new Float32Array(texts.length * this.dimensions);
    // What says nothing lies in one fixed direction.
    for (const [i, { ids }] of inputs.entries()) if (ids.length === 0) vectors[i * this.dimensions] = 1;
    for (const batch of this.#graph.batches(inputs)) {
      const answer = await this.#graph.run(batch, output);
      const width = pooledWidth(answer, pooling, output);
      for (const [row, position] of answer.positions.entries()) {
        const vector = unitPrefix(pooled(answer, pooling, row, width), this.dimensions);
        if (vector === undefined || vector.length !== this.dimensions)
          throw new Error(`the output "${output}" holds a vector without direction (zero, NaN or infinite)`);
        vectors.set(vector, position * this.dimensions);
      }
    }
    return { vectors, tokens: inputs.reduce((sum, { ids }) => sum + ids.length, 0) };
  }

  close(): Promise<void> {
    return this.#graph.close();
  }
}

/** Components of the vector of one text; an Error that says which shape is wrong. */
export function pooledWidth({ shape, lengths }: BatchAnswer, pooling: Pooling, output: string): number {
  const rank = pooling === 'none' ? 2 : 3;
  const isWhole = shape.length === rank && shape[0] === lengths.length && shape.at(-1)! > 0;
  const isLong = pooling === 'none' || shape[1]! >= Math.max(...lengths);
  if (isWhole && isLong) return shape.at(-1)!;
  const wanted = pooling === 'none' ? '[texts, dimensions]' : '[texts, tokens, dimensions]';
  throw new Error(`the output "${output}" has the shape [${shape.join(', ')}] where ${wanted} is needed`);
}

function pooled(
  { data, shape, lengths }: BatchAnswer,
  pooling: Pooling,
  row: number,
  width: number,
): Float32Array {
  if (pooling === 'none') return data.subarray(row * width, (row + 1) * width);
  const start = row * shape[1]! * width;
  const tokens = lengths[row]!;
  if (pooling !== 'mean') {
    const at = start + (pooling === 'cls' ? 0 : tokens - 1) * width;
    return data.subarray(at, at + width);
  }
  const sum = new Float32Array(width);
  for (let at = start; at < start + tokens * width; at += width)
    for (let i = 0; i < width; i += 1) sum[i]! += data[at + i]!;
  return sum.map((component) => component / tokens);
}
