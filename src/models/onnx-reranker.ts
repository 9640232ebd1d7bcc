import type { InstalledModel, LocalReranker } from './local-model.ts';
import type { Reranker, RerankScores } from './model.ts';
import { TextTokenizer, type TokenInput } from './text-tokenizer.ts';
import { type BatchOutput, TokenGraph } from './token-graph.ts';

/** Cross-encoder from a folder: reads the query and a document together and outputs one score. */
export class OnnxReranker implements Reranker {
  readonly id: string;
  readonly #model: LocalReranker;
  readonly #tokenizer: TextTokenizer;
  readonly #graph: TokenGraph;

  private constructor(model: LocalReranker, tokenizer: TextTokenizer, graph: TokenGraph) {
    this.id = model.id;
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#graph = graph;
  }

  static async open({
    model,
    folder,
    inferenceOptions: run,
  }: InstalledModel<LocalReranker>): Promise<OnnxReranker> {
    const tokenizer = await TextTokenizer.open(folder, model.tokensMax);
    return new OnnxReranker(model, tokenizer, await TokenGraph.open(folder, model.graph, run));
  }

  /** Errors: Error if the graph output has another shape than `model` declares, or contains NaN. */
  async score(query: string, documents: readonly string[]): Promise<RerankScores> {
    const inputs = documents.map((document) => this.#buildInput(query, document));
    const scores = new Float32Array(documents.length);
    for (const batch of this.#graph.batches(inputs)) {
      const output = await this.#graph.run(batch, this.#model.output);
      for (const [row, position] of output.positions.entries()) {
        const score = this.#readScore(output, row);
        if (!Number.isFinite(score)) throw new Error(`output "${this.#model.output}" is not a number (NaN)`);
        scores[position] = score;
      }
    }
    return { scores, tokens: inputs.reduce((sum, { ids }) => sum + ids.length, 0) };
  }

  close(): Promise<void> {
    return this.#graph.close();
  }

  #buildInput(query: string, document: string): TokenInput {
    const { question } = this.#model;
    if (question === null) return this.#tokenizer.encodePair(query, document);
    const [before = '', after = ''] = question.template.split('{document}');
    // A replacer function, because `replace` interprets `$` patterns in a replacement string.
    const fill = (text: string) => text.replace('{query}', () => query);
    return this.#tokenizer.encodeTemplate(fill(before), document, fill(after));
  }

  #readScore({ data, shape, lengths }: BatchOutput, row: number): number {
    const { head, output, question } = this.#model;
    const width = shape.at(-1) ?? 0;
    const hasAllRows = shape[0] === lengths.length;
    if (head === 'one-logit' && hasAllRows && (shape.length === 1 || (shape.length === 2 && width === 1)))
      return sigmoid(data[row]!);
    if (head === 'two-classes' && hasAllRows && shape.length === 2 && width === 2)
      return sigmoid(data[2 * row + 1]! - data[2 * row]!);
    if (head === 'yes-no' && question !== null && hasAllRows && shape.length === 3 && width > question.yes) {
      const last = (row * shape[1]! + lengths[row]! - 1) * width;
      return sigmoid(data[last + question.yes]! - data[last + question.no]!);
    }
    throw new Error(
      `output "${output}" has shape [${shape.join(', ')}], which does not match the head ${head}`,
    );
  }
}

/** The softmax of two classes equals the sigmoid of their difference. */
function sigmoid(odds: number): number {
  return 1 / (1 + Math.exp(-odds));
}
