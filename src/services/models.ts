import { endianness } from 'node:os';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { ModelFailed } from '../base/model-failed.ts';
import type {
  CohereRerankRequest,
  CohereRerankResponse,
  EmbedRequest,
  EmbedResponse,
  GetModelListResponse,
  Latency,
  OpenAiEmbeddingsRequest,
  OpenAiEmbeddingsResponse,
  RerankRequest,
  RerankResponse,
} from '../schemas/models.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type { Call } from './call.ts';

type ModelServiceCall = Call<OrganisationPrincipal>;

/** What of the model pools these use cases need; `pipeline/model-runner` is one. */
export interface ModelRuns {
  embed(
    texts: readonly string[],
    inputType: 'query' | 'document',
    options: { readonly priority: 'fast' | 'slow'; readonly model: string },
  ): Promise<{ vectors: Float32Array; dimensions: number; tokens: number; inferenceMs: number }>;
  rerank(
    model: string,
    query: string,
    documents: readonly string[],
    options: { readonly priority: 'fast' | 'slow' },
  ): Promise<{ scores: Float32Array; tokens: number; inferenceMs: number }>;
}

/** Which models there are, by the ids that clients send; `models/registry` and `models/dimensions` know. */
export interface ModelCatalogue {
  /** Every name of each kind, and what is used where none is given. */
  list(): GetModelListResponse;
  /** Components of the vectors: `asked`, or the model's own default. 404 unknown model, 400 not offered. */
  dimensionsOf(embeddingModel: string, asked: number | null): number;
  /** 404 unknown model. */
  checkReranker(model: string): void;
  /** The vector with another number of components, still of length 1. A copy. */
  toDimensions(vector: Float32Array, dimensions: number): Float32Array;
}

/** A call that may run now; see `access/model-admission`. */
interface Admitted {
  readonly mode: Latency;
  readonly leave: () => void;
  readonly firstPiece: <Piece>(work: Promise<Piece>) => Promise<Piece>;
}

/** The limits of organisations: rejects with 413 or 429, resolves when the call may run. */
export interface ModelGate {
  admit(call: {
    readonly organizationId: string;
    readonly kind: 'embed' | 'rerank';
    readonly chargedBytes: number;
    readonly latency: Latency | null;
    readonly signal: AbortSignal;
  }): Promise<Admitted>;
}

/** What an API call of a model used. */
export interface ModelFact {
  readonly organizationId: string;
  readonly model: string;
  /** True: somebody called the model operation itself. */
  readonly explicitCall: boolean;
  readonly bytes: number;
  readonly tokens: number;
  readonly timeTakenMs: number;
}
export interface ModelMeter {
  recordEmbed(fact: ModelFact): void;
  recordRerank(fact: ModelFact & { readonly documents: number; readonly inferenceMs: number }): void;
}

export interface ModelServiceOptions {
  readonly runs: ModelRuns;
  readonly catalogue: ModelCatalogue;
  readonly gate: ModelGate;
  readonly meter: ModelMeter;
  readonly clock: Clock;
}

interface EmbedWork {
  readonly model: string;
  readonly texts: readonly string[];
  readonly inputType: 'query' | 'document';
  readonly dimensions: number | null | undefined;
  readonly latency: Latency | null;
}
interface Embedded {
  readonly vectors: readonly Float32Array[];
  readonly chargedBytes: number;
  readonly tokens: number;
}

interface RerankWork {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  readonly topN: number | null | undefined;
  readonly latency: Latency | null;
}
interface Ranking {
  /** Best first, equal scores in the order given, at most `topN`. */
  readonly ranked: readonly { readonly index: number; readonly relevance_score: number }[];
  readonly chargedBytes: number;
  readonly tokens: number;
  readonly mode: Latency;
  readonly timeTakenMs: number;
  readonly inferenceMs: number;
}

/** Embedding and reranking of texts that the caller sends, in the three shapes that clients speak. */
export class ModelService {
  readonly #runs: ModelRuns;
  readonly #catalogue: ModelCatalogue;
  readonly #gate: ModelGate;
  readonly #meter: ModelMeter;
  readonly #clock: Clock;

  constructor(options: ModelServiceOptions) {
    this.#runs = options.runs;
    this.#catalogue = options.catalogue;
    this.#gate = options.gate;
    this.#meter = options.meter;
    this.#clock = options.clock;
  }

  /** `POST /models/get-model-list`. */
  async getModelList(): Promise<GetModelListResponse> {
    return this.#catalogue.list();
  }

  /** `POST /models/embed`. Errors: 404 unknown model, 400 dimensions, 413, 429. */
  async embed(call: ModelServiceCall, request: EmbedRequest): Promise<EmbedResponse> {
    const embedded = await this.#embed(call, {
      model: request.model,
      texts: textsOf(request.input),
      inputType: request.input_type,
      dimensions: request.dimensions,
      latency: request.latency ?? null,
    });
    const encode = encoder(request.encoding_format);
    return {
      results: embedded.vectors.map((vector) => ({ embedding: encode(vector) })),
      usage: { total_bytes: embedded.chargedBytes, total_tokens: embedded.tokens },
    };
  }

  /** `POST /embeddings`, as OpenAI clients know it. Texts are documents unless `input_type` says otherwise. */
  async openAiEmbeddings(
    call: ModelServiceCall,
    request: OpenAiEmbeddingsRequest,
  ): Promise<OpenAiEmbeddingsResponse> {
    const embedded = await this.#embed(call, {
      model: request.model,
      texts: textsOf(request.input),
      inputType: request.input_type ?? 'document',
      dimensions: request.dimensions,
      latency: null,
    });
    const encode = encoder(request.encoding_format);
    return {
      object: 'list',
      data: embedded.vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: encode(vector),
      })),
      model: request.model,
      usage: { prompt_tokens: embedded.tokens, total_tokens: embedded.tokens },
    };
  }

  /** `POST /models/rerank`. Errors: 404 unknown model, 400 top_n, 413, 429. */
  async rerank(call: ModelServiceCall, request: RerankRequest): Promise<RerankResponse> {
    const ranking = await this.#rerank(call, {
      model: request.model,
      query: request.query,
      documents: request.documents,
      topN: request.top_n,
      latency: request.latency ?? null,
    });
    return {
      results: [...ranking.ranked],
      total_bytes: ranking.chargedBytes,
      total_tokens: ranking.tokens,
      actual_latency_mode: ranking.mode,
      e2e_latency: ranking.timeTakenMs / 1000,
      inference_latency: ranking.inferenceMs / 1000,
    };
  }

  /** `POST /rerank`, as Cohere clients know it. */
  async cohereRerank(call: ModelServiceCall, request: CohereRerankRequest): Promise<CohereRerankResponse> {
    const documents = request.documents.map((entry) => (typeof entry === 'string' ? entry : entry.text));
    const { model, query, top_n: topN } = request;
    const ranking = await this.#rerank(call, { model, query, documents, topN, latency: null });
    const withText = request.return_documents === true;
    return {
      id: call.requestId,
      results: ranking.ranked.map((entry) => ({
        ...entry,
        ...(withText ? { document: { text: documents[entry.index] ?? '' } } : {}),
      })),
      meta: {
        api_version: { version: '2' },
        billed_units: { search_units: Math.ceil(documents.length / limits.cohereSearchUnitDocuments) },
        tokens: { input_tokens: ranking.tokens },
      },
    };
  }

  async #embed(call: ModelServiceCall, work: EmbedWork): Promise<Embedded> {
    const dimensions = this.#catalogue.dimensionsOf(work.model, work.dimensions ?? null);
    const chargedBytes = chargeOf(work.texts, 0);
    refuseLongReply(work.texts.length, dimensions);
    const { organizationId } = call.principal;
    const { latency } = work;
    const gated = {
      organizationId,
      kind: 'embed',
      chargedBytes,
      latency,
      signal: call.caller.signal,
    } as const;
    const vectors: Float32Array[] = [];
    let tokens = 0;
    await this.#inPieces(gated, work.texts, async (texts, priority) => {
      const part = await this.#runs.embed(texts, work.inputType, { priority, model: work.model });
      tokens += part.tokens;
      for (let i = 0; i < texts.length; i += 1) {
        const vector = part.vectors.subarray(i * part.dimensions, (i + 1) * part.dimensions);
        vectors.push(this.#catalogue.toDimensions(vector, dimensions));
      }
    });
    const timeTakenMs = this.#clock.monotonic() - call.receivedAt;
    const { model } = work;
    this.#meter.recordEmbed({
      organizationId,
      model,
      explicitCall: true,
      bytes: chargedBytes,
      tokens,
      timeTakenMs,
    });
    return { vectors, chargedBytes, tokens };
  }

  async #rerank(call: ModelServiceCall, work: RerankWork): Promise<Ranking> {
    this.#catalogue.checkReranker(work.model);
    const { model, query, documents, topN, latency } = work;
    if (topN !== null && topN !== undefined && topN < 1) {
      throw new AppError('bad_request', `top_n must be at least 1; it is ${topN}.`);
    }
    const chargedBytes = chargeOf(documents, Buffer.byteLength(query));
    const { organizationId } = call.principal;
    const gated = {
      organizationId,
      kind: 'rerank',
      chargedBytes,
      latency,
      signal: call.caller.signal,
    } as const;
    const scores: number[] = [];
    let tokens = 0;
    let modelMs = 0;
    const mode = await this.#inPieces(gated, documents, async (texts, priority) => {
      const part = await this.#runs.rerank(model, query, texts, { priority });
      tokens += part.tokens;
      modelMs += part.inferenceMs;
      scores.push(...part.scores);
    });
    const timeTakenMs = this.#clock.monotonic() - call.receivedAt;
    // Threads that work side by side add up to more than the time that passed; the client is told the latter.
    const inferenceMs = Math.min(modelMs, timeTakenMs);
    const fact = { organizationId, model, explicitCall: true, bytes: chargedBytes, tokens, timeTakenMs };
    this.#meter.recordRerank({ ...fact, documents: documents.length, inferenceMs });
    return { ranked: rank(scores, topN), chargedBytes, tokens, mode, timeTakenMs, inferenceMs };
  }

  /** Runs `texts` piece after piece inside the limits, so that no call holds the threads or the memory for long. */
  async #inPieces(
    gated: Parameters<ModelGate['admit']>[0],
    texts: readonly string[],
    run: (texts: readonly string[], priority: Latency) => Promise<void>,
  ): Promise<Latency> {
    const admitted = await this.#gate.admit(gated);
    try {
      let first = true;
      for (const piece of piecesOf(texts)) {
        gated.signal.throwIfAborted();
        const work = run(piece, admitted.mode).catch(answerable);
        await (first ? admitted.firstPiece(work) : work);
        first = false;
      }
      return admitted.mode;
    } finally {
      admitted.leave();
    }
  }
}

/** Of a model of this machine that failed the caller learns which it was, and why: perhaps it is the text. */
function answerable(error: unknown): never {
  if (!(error instanceof ModelFailed)) throw error;
  throw new AppError('unavailable', error.sentence, { shouldRetry: false, cause: error });
}

function textsOf(input: string | readonly string[]): readonly string[] {
  return typeof input === 'string' ? [input] : input;
}

/** Charged bytes: 150, the text and what comes with each text (a query), for every text. */
function chargeOf(texts: readonly string[], bytesBesideEach: number): number {
  return texts.reduce(
    (sum, text) => sum + limits.chargedBytesPerText + bytesBesideEach + Buffer.byteLength(text),
    0,
  );
}

/** Many short texts make a reply of gigabytes that neither side could hold; it is refused before any work. */
function refuseLongReply(texts: number, dimensions: number): void {
  if (texts * dimensions <= limits.embedNumbersMax) return;
  const fit = Math.floor(limits.embedNumbersMax / dimensions);
  throw new AppError(
    'too_large',
    `${texts} vectors of ${dimensions} dimensions are too many for one reply: send at most ${fit} texts, or ask for fewer dimensions.`,
  );
}

/** Consecutive texts, so many and so long at most. */
function* piecesOf(texts: readonly string[]): Generator<readonly string[]> {
  let piece: string[] = [];
  let units = 0;
  for (const text of texts) {
    const full = piece.length >= limits.modelPieceTextsMax || units + text.length > limits.modelPieceUnitsMax;
    if (full && piece.length > 0) {
      yield piece;
      piece = [];
      units = 0;
    }
    piece.push(text);
    units += text.length;
  }
  if (piece.length > 0) yield piece;
}

function rank(scores: readonly number[], topN: number | null | undefined): Ranking['ranked'] {
  const ranked = scores.map((score, index) => ({ index, relevance_score: score }));
  ranked.sort((a, b) => b.relevance_score - a.relevance_score);
  return ranked.slice(0, topN ?? ranked.length);
}

function encoder(format: 'float' | 'base64' | undefined): (vector: Float32Array) => number[] | string {
  return format === 'base64' ? littleEndianBase64 : (vector) => Array.from(vector);
}

function littleEndianBase64(vector: Float32Array): string {
  const bytes = Buffer.from(vector.slice().buffer);
  return (endianness() === 'LE' ? bytes : bytes.swap32()).toString('base64');
}
