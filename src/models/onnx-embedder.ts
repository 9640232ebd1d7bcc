import { DenseLayer } from './dense-layer.ts';
import { toUnitPrefix } from './dimensions.ts';
import type { InstalledModel, LocalEmbedding } from './local-model.ts';
import type { Embedder, Embeddings, InputType } from './model.ts';
import { getPooledWidth, poolTokens } from './pooling.ts';
import { TextTokenizer } from './text-tokenizer.ts';
import { TokenGraph } from './token-graph.ts';

interface Parts {
  readonly tokenizer: TextTokenizer;
  readonly graph: TokenGraph;
  readonly layers: readonly DenseLayer[];
}

/**
 * Transformer model from a folder. Pipeline: tokenize, run the graph, pool, apply dense layers, truncate to
 * `dimensions`, scale to length 1.
 */
export class OnnxEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly #model: LocalEmbedding;
  readonly #tokenizer: TextTokenizer;
  readonly #graph: TokenGraph;
  readonly #layers: readonly DenseLayer[];

  private constructor(model: LocalEmbedding, { tokenizer, graph, layers }: Parts) {
    this.id = model.id;
    this.dimensions = model.dimensions;
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#graph = graph;
    this.#layers = layers;
  }

  static async open({
    model,
    folder,
    inferenceOptions: run,
  }: InstalledModel<LocalEmbedding>): Promise<OnnxEmbedder> {
    const tokenizer = await TextTokenizer.open(folder, model.tokensMax);
    const layers = await Promise.all((model.layers ?? []).map((layer) => DenseLayer.open(folder, layer)));
    return new OnnxEmbedder(model, {
      tokenizer,
      layers,
      graph: await TokenGraph.open(folder, model.graph, run),
    });
  }

  /** Errors: Error if the graph output has another shape than `model` declares, or contains NaN. */
  async embed(texts: readonly string[], inputType: InputType): Promise<Embeddings> {
    const { prompts, pooling, output } = this.#model;
    const inputs = texts.map((text) => this.#tokenizer.encodeText(`${prompts[inputType]}${text}`));
    const vectors = new Float32Array(texts.length * this.dimensions);
    const skipped =
      this.#model.skipsPrompt === true ? this.#tokenizer.countPromptTokens(prompts[inputType]) : 0;
    // A text without tokens gets the first axis as its vector.
    for (const [i, { ids }] of inputs.entries()) if (ids.length === 0) vectors[i * this.dimensions] = 1;
    for (const batch of this.#graph.batches(inputs)) {
      const batchOutput = await this.#graph.run(batch, output);
      const width = getPooledWidth(batchOutput, pooling, output);
      for (const [row, position] of batchOutput.positions.entries()) {
        const pooledVector = this.#layers.reduce(
          (made, layer) => layer.apply(made),
          poolTokens(batchOutput, pooling, { row, width, skipped }),
        );
        const vector = toUnitPrefix(pooledVector, this.dimensions);
        if (vector === undefined || vector.length !== this.dimensions)
          throw new Error(
            `output "${output}" has a vector that cannot be normalized (zero, NaN or infinite)`,
          );
        vectors.set(vector, position * this.dimensions);
      }
    }
    return { vectors, tokens: inputs.reduce((sum, { ids }) => sum + ids.length, 0) };
  }

  close(): Promise<void> {
    return this.#graph.close();
  }
}
