/** How the vectors of a text's tokens become one; none: the graph has done it. */
export const poolings = ['mean', 'cls', 'last', 'max', 'mean-sqrt-length', 'weighted-mean', 'none'] as const;
export type Pooling = (typeof poolings)[number];

/** How an output of a reranking graph becomes a score: sigmoid of one number, softmax of two classes or two tokens. */
export const rerankHeads = ['one-logit', 'two-classes', 'yes-no'] as const;
export type RerankHead = (typeof rerankHeads)[number];

/** What is done to each number that a dense layer makes. */
export type Activation = 'identity' | 'tanh' | 'relu' | 'sigmoid';

/** A dense layer behind the pooling: its safetensors file inside the folder, and its activation. */
export interface DenseFile {
  readonly file: string;
  readonly activation: Activation;
}

interface LocalModelBase {
  readonly format: 1;
  /** Its name for callers. */
  readonly id: string;
  /** Changes whenever the same text may get another vector or score. */
  readonly version: string;
  /** Graph inside the folder. */
  readonly graph: string;
  /** Output of the graph that is read. */
  readonly output: string;
  /** Longest input of the graph, its special tokens included. */
  readonly tokensMax: number;
  /** Where the model came from, for people. */
  readonly source: string;
}

/** `quarry.json` of an embedding model that `quarry models add` added. */
export interface LocalEmbedding extends LocalModelBase {
  readonly kind: 'embedding';
  readonly pooling: Pooling;
  /** Behind the pooling, in this order; absent: none. */
  readonly layers?: readonly DenseFile[];
  /** The tokens of prompts do not count in the pooling. */
  readonly skipsPrompt?: boolean;
  /** Components that are used: the first so many of those that the graph makes. */
  readonly dimensions: number;
  readonly prompts: { readonly query: string; readonly document: string };
}

/** `quarry.json` of a reranker that `quarry models add` added. */
export interface LocalReranker extends LocalModelBase {
  readonly kind: 'reranker';
  readonly head: RerankHead;
  /** For `yes-no`: the tokens that mean it, and the text around query and document. */
  readonly question: { readonly yes: number; readonly no: number; readonly template: string } | null;
}

export type LocalModel = LocalEmbedding | LocalReranker;

/** How local models run, whatever they are. */
export interface InferenceOptions {
  /** Threads of one run. */
  readonly threads: number;
  /** Tokens of one run, padding included; a longer text runs alone. */
  readonly batchTokens: number;
  /** Execution providers of onnxruntime, the preferred one first. */
  readonly executionProviders: readonly string[];
}

/** A model, where it lies, and how it runs: all that a worker needs to know. */
export interface InstalledModel<M extends LocalModel = LocalModel> {
  readonly model: M;
  readonly folder: string;
  readonly inferenceOptions: InferenceOptions;
}
