/** Methods that combine the token vectors of a text into one; none: the graph contains the pooling. */
export const poolings = ['mean', 'cls', 'last', 'max', 'mean-sqrt-length', 'weighted-mean', 'none'] as const;
export type Pooling = (typeof poolings)[number];

/**
 * Methods that convert an output of a reranking graph into a score: sigmoid of one number, softmax of two
 * classes or two tokens.
 */
export const rerankHeads = ['one-logit', 'two-classes', 'yes-no'] as const;
export type RerankHead = (typeof rerankHeads)[number];

/** Activation function of a dense layer, applied to each component. */
export type Activation = 'identity' | 'tanh' | 'relu' | 'sigmoid';

/** Dense layer after the pooling: its safetensors file inside the folder, and its activation. */
export interface DenseFile {
  readonly file: string;
  readonly activation: Activation;
}

interface LocalModelBase {
  readonly format: 1;
  /** Name of the model in the API. */
  readonly id: string;
  /** Changes whenever the same text may get a different vector or score. */
  readonly version: string;
  /** Path of the graph inside the folder. */
  readonly graph: string;
  /** Name of the graph output that is used. */
  readonly output: string;
  /** Maximum input length of the graph in tokens, special tokens included. */
  readonly tokensMax: number;
  /** Origin of the model, for display. */
  readonly source: string;
}

/** `quarry.json` of an embedding model added by `quarry models add`. */
export interface LocalEmbedding extends LocalModelBase {
  readonly kind: 'embedding';
  readonly pooling: Pooling;
  /** Dense layers after the pooling, in this order; absent: none. */
  readonly layers?: readonly DenseFile[];
  /** Whether the pooling excludes the tokens of the prompt. */
  readonly skipsPrompt?: boolean;
  /** Components used: a prefix of the graph's output vector. */
  readonly dimensions: number;
  readonly prompts: { readonly query: string; readonly document: string };
}

/** `quarry.json` of a reranker added by `quarry models add`. */
export interface LocalReranker extends LocalModelBase {
  readonly kind: 'reranker';
  readonly head: RerankHead;
  /** For `yes-no`: the token ids of "yes" and "no", and the template around query and document. */
  readonly question: { readonly yes: number; readonly no: number; readonly template: string } | null;
}

export type LocalModel = LocalEmbedding | LocalReranker;

/** Options for running local models of any kind. */
export interface InferenceOptions {
  /** Threads of one run. */
  readonly threads: number;
  /** Maximum tokens of one run, padding included; a longer text runs alone. */
  readonly batchTokens: number;
  /** Execution providers of onnxruntime, the preferred one first. */
  readonly executionProviders: readonly string[];
}

/** A model, its folder and its inference options: all that a worker needs to run it. */
export interface InstalledModel<M extends LocalModel = LocalModel> {
  readonly model: M;
  readonly folder: string;
  readonly inferenceOptions: InferenceOptions;
}
