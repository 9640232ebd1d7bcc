import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { ModelError } from '../core/model-error.ts';
import type { EmbedReply, RerankReply } from '../models/registry.ts';
import type {
  EmbedRequest,
  EmbedResponse,
  GetModelListRequest,
  GetModelListResponse,
  Latency,
  ModelDetails,
  RerankRequest,
  RerankResponse,
} from '../schemas/models.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { ServiceCall } from './call.ts';
import { type ModelDescriptions, setModelHeaders } from './model-headers.ts';
import { createEncoder, mapInTurns } from './vector-encoding.ts';

export type ModelServiceCall = ServiceCall<OrganizationPrincipal>;

/** Subset of the model pools; implemented in `ingest/model-runner`. */
export interface ModelExecutor {
  embed(
    texts: readonly string[],
    inputType: 'query' | 'document',
    options: { readonly priority: 'fast' | 'slow'; readonly model: string },
  ): Promise<EmbedReply>;
  rerank(
    model: string,
    query: string,
    documents: readonly string[],
    options: { readonly priority: 'fast' | 'slow' },
  ): Promise<RerankReply>;
}

/** Model names as clients send them; implemented in `models/catalog` and `models/dimensions`. */
export interface ModelLookup extends ModelDescriptions {
  /** Returns every name of each kind, and the defaults. */
  list(): GetModelListResponse;
  /** Describes every model, with the collections of the caller that use it. */
  describe(principal: OrganizationPrincipal): Promise<ModelDetails[]>;
  /**
   * Returns the dimensions of the vectors: `requested`, or the default of the model. Errors: 404 unknown
   * model, 400 unsupported.
   */
  resolveDimensions(embeddingModel: string, requested: number | null): number;
  /** Reranker of calls that name none. */
  readonly defaultReranker: string;
  /** Returns a copy of the vector with another number of dimensions, still of length 1. */
  toDimensions(embeddingModel: string, vector: Float32Array, dimensions: number): Float32Array;
}

/** Admitted model call; see `admission/model-admission`. */
interface AdmittedModelCall {
  readonly mode: Latency;
  readonly release: () => void;
  readonly awaitFirstBatch: <Piece>(input: Promise<Piece>) => Promise<Piece>;
}

/** Limits of organizations. Resolves when the call may run. Errors: 413 or 429. */
export interface ModelCallAdmission {
  admit(call: {
    readonly organizationId: string;
    readonly kind: 'embed' | 'rerank';
    readonly chargedBytes: number;
    readonly latency: Latency | null;
    readonly signal: AbortSignal;
  }): Promise<AdmittedModelCall>;
}

type ModelUsageRecorder = Pick<UsageMeter, 'recordEmbed' | 'recordRerank'>;

export interface ModelServiceOptions {
  readonly executor: ModelExecutor;
  readonly modelLookup: ModelLookup;
  readonly admission: ModelCallAdmission;
  readonly meter: ModelUsageRecorder;
  readonly clock: Clock;
}

export interface EmbedInput {
  readonly model: string;
  readonly texts: readonly string[];
  readonly inputType: 'query' | 'document';
  readonly dimensions: number | null | undefined;
  readonly latency: Latency | null;
}
interface EmbeddedTexts {
  readonly vectors: readonly Float32Array[];
  readonly chargedBytes: number;
  readonly tokens: number;
}

export interface RerankInput {
  /** Null: the default reranker. */
  readonly model: string | null;
  readonly query: string;
  readonly documents: readonly string[];
  readonly topN: number | null | undefined;
  readonly latency: Latency | null;
}
export interface Ranking {
  /** Best first, ties in input order, at most `topN`. */
  readonly ranked: readonly { readonly index: number; readonly relevance_score: number }[];
  readonly chargedBytes: number;
  readonly tokens: number;
  readonly mode: Latency;
  readonly timeTakenMs: number;
  readonly inferenceMs: number;
}

/** Embeds and reranks texts sent by the caller, in the format of this API. `openai.ts` and `cohere.ts` adapt it. */
export class ModelService {
  readonly #executor: ModelExecutor;
  readonly #modelLookup: ModelLookup;
  readonly #admission: ModelCallAdmission;
  readonly #meter: ModelUsageRecorder;
  readonly #clock: Clock;

  constructor(options: ModelServiceOptions) {
    this.#executor = options.executor;
    this.#modelLookup = options.modelLookup;
    this.#admission = options.admission;
    this.#meter = options.meter;
    this.#clock = options.clock;
  }

  /** Returns the names of all models. */
  listModels(): GetModelListResponse {
    return this.#modelLookup.list();
  }

  /** `POST /models/get-model-list`. */
  async getModelList(
    call: ModelServiceCall,
    { include_details: isDetailed }: GetModelListRequest,
  ): Promise<GetModelListResponse> {
    const list = this.listModels();
    if (isDetailed !== true) return list;
    return { ...list, models: await this.#modelLookup.describe(call.principal) };
  }

  /** `POST /models/embed`. Errors: 404 unknown model, 400 dimensions, 413, 429. */
  async embed(call: ModelServiceCall, request: EmbedRequest): Promise<EmbedResponse> {
    const embedded = await this.embedTexts(call, {
      model: request.model,
      texts: toTexts(request.input),
      inputType: request.input_type,
      dimensions: request.dimensions,
      latency: request.latency ?? null,
    });
    const encode = createEncoder(request.encoding_format);
    return {
      results: await mapInTurns(call, embedded.vectors, (vector) => ({ embedding: encode(vector) })),
      usage: { total_bytes: embedded.chargedBytes, total_tokens: embedded.tokens },
    };
  }

  /** `POST /models/rerank`. Errors: 404 unknown model, 413, 429. */
  async rerank(call: ModelServiceCall, request: RerankRequest): Promise<RerankResponse> {
    const ranking = await this.rankTexts(call, {
      model: request.model ?? null,
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

  /** Returns the vectors of texts. Errors: as `embed`. */
  async embedTexts(call: ModelServiceCall, input: EmbedInput): Promise<EmbeddedTexts> {
    this.#modelLookup.checkEmbedding(input.model);
    const dimensions = this.#modelLookup.resolveDimensions(input.model, input.dimensions ?? null);
    const chargedBytes = chargedBytesOf(input.texts, 0);
    checkReplySize(input.texts.length, dimensions);
    const { organizationId } = call.principal;
    const { latency } = input;
    const admissionRequest = {
      organizationId,
      kind: 'embed',
      chargedBytes,
      latency,
      signal: call.cancellation.signal,
    } as const;
    const vectors: Float32Array[] = [];
    let tokens = 0;
    await this.#runInBatches(admissionRequest, input.texts, async (texts, priority) => {
      const part = await this.#executor.embed(texts, input.inputType, { priority, model: input.model });
      tokens += part.tokens;
      for (let i = 0; i < texts.length; i += 1) {
        const pause = call.yieldToEventLoop();
        if (pause !== null) await pause;
        const vector = part.vectors.subarray(i * part.dimensions, (i + 1) * part.dimensions);
        vectors.push(this.#modelLookup.toDimensions(input.model, vector, dimensions));
      }
    });
    const timeTakenMs = this.#clock.monotonic() - call.receivedAt;
    const { model } = input;
    this.#meter.recordEmbed({
      organizationId,
      model,
      explicitCall: true,
      bytes: chargedBytes,
      tokens,
      timeTakenMs,
    });
    const used = [this.#modelLookup.describeEmbedding(model)];
    setModelHeaders(call, this.#modelLookup, { used, name: model });
    return { vectors, chargedBytes, tokens };
  }

  /** Returns the scores of texts. Errors: as `rerank`. */
  async rankTexts(call: ModelServiceCall, input: RerankInput): Promise<Ranking> {
    const { query, documents, topN, latency } = input;
    const model = input.model ?? this.#modelLookup.defaultReranker;
    if (input.model !== null) this.#modelLookup.checkReranker(input.model);
    const used = [this.#modelLookup.describeReranker(model)];
    const chargedBytes = chargedBytesOf(documents, Buffer.byteLength(query));
    const { organizationId } = call.principal;
    const admissionRequest = {
      organizationId,
      kind: 'rerank',
      chargedBytes,
      latency,
      signal: call.cancellation.signal,
    } as const;
    const scores: number[] = [];
    let tokens = 0;
    let modelMs = 0;
    const mode = await this.#runInBatches(admissionRequest, documents, async (texts, priority) => {
      const part = await this.#executor.rerank(model, query, texts, { priority });
      tokens += part.tokens;
      modelMs += part.inferenceMs;
      for (const score of part.scores) scores.push(score);
    });
    const timeTakenMs = this.#clock.monotonic() - call.receivedAt;
    // Times of parallel threads add up to more than the elapsed time, so report at most the elapsed time.
    const inferenceMs = Math.min(modelMs, timeTakenMs);
    const usage = { organizationId, model, explicitCall: true, bytes: chargedBytes, tokens, timeTakenMs };
    this.#meter.recordRerank({ ...usage, documents: documents.length, inferenceMs });
    setModelHeaders(call, this.#modelLookup, { used, name: model });
    return { ranked: rankScores(scores, topN), chargedBytes, tokens, mode, timeTakenMs, inferenceMs };
  }

  /** Runs `texts` in batches within the limits, so that no call occupies threads or memory for a long time. */
  async #runInBatches(
    admissionRequest: Parameters<ModelCallAdmission['admit']>[0],
    texts: readonly string[],
    run: (texts: readonly string[], priority: Latency) => Promise<void>,
  ): Promise<Latency> {
    const admitted = await this.#admission.admit(admissionRequest);
    try {
      let isFirst = true;
      for (const batch of splitBatches(texts)) {
        admissionRequest.signal.throwIfAborted();
        const work = run(batch, admitted.mode).catch(toUserError);
        await (isFirst ? admitted.awaitFirstBatch(work) : work);
        isFirst = false;
      }
      return admitted.mode;
    } finally {
      admitted.release();
    }
  }
}

/** Tells the caller which local model failed and why: the cause may be the text. */
function toUserError(error: unknown): never {
  if (!(error instanceof ModelError)) throw error;
  throw new AppError('unavailable', error.publicMessage, { shouldRetry: false, cause: error });
}

function toTexts(input: string | readonly string[]): readonly string[] {
  return typeof input === 'string' ? [input] : input;
}

/** Charged bytes per text: 150, the text, and `extraBytesPerText` (the query of a rerank call). */
function chargedBytesOf(texts: readonly string[], extraBytesPerText: number): number {
  return texts.reduce(
    (sum, text) => sum + limits.chargedBytesPerText + extraBytesPerText + Buffer.byteLength(text),
    0,
  );
}

/** Errors: 413, before any work, for texts whose reply would be gigabytes. */
function checkReplySize(texts: number, dimensions: number): void {
  if (texts * dimensions <= limits.embedNumbersMax) return;
  const textsMax = Math.floor(limits.embedNumbersMax / dimensions);
  throw new AppError(
    'too_large',
    `${texts} vectors of ${dimensions} dimensions exceed the maximum size of a reply. Send at most ${textsMax} texts, or request fewer dimensions.`,
  );
}

/** Splits texts into consecutive batches, bounded in count and length. */
function* splitBatches(texts: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let units = 0;
  for (const text of texts) {
    const isFull =
      batch.length >= limits.modelBatchTextsMax || units + text.length > limits.modelBatchUnitsMax;
    if (isFull && batch.length > 0) {
      yield batch;
      batch = [];
      units = 0;
    }
    batch.push(text);
    units += text.length;
  }
  if (batch.length > 0) yield batch;
}

function rankScores(scores: readonly number[], topN: number | null | undefined): Ranking['ranked'] {
  // Sorting 30,000 indexes blocks the event loop for 9 ms, sorting as many objects for 22 ms.
  const order = Uint32Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]! || a - b);
  return Array.from(order.subarray(0, topN ?? scores.length), (index) => ({
    index,
    relevance_score: scores[index]!,
  }));
}
