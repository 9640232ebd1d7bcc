import { sortByIndex } from './embedding-reply.ts';
import type { RerankScores } from './model.ts';
import { type ModelProvider, rejectedTextError } from './model-provider.ts';
import { ProviderError } from './post-json.ts';
import type { RerankTemplate } from './rerank-template.ts';

/**
 * Request and reply fields. cohere: `query`, `documents` -> `relevance_score` (Cohere, Jina, vLLM, Quarry);
 * tei: `query`, `texts` -> `score`.
 */
export const rerankDialects = ['cohere', 'tei'] as const;
export type RerankDialect = (typeof rerankDialects)[number];

export interface HttpRerankerOptions {
  readonly provider: ModelProvider;
  readonly dialect: RerankDialect;
  /** Unit of the scores: probabilities in 0..1, or logits, which are converted by the sigmoid function. */
  readonly scores: 'probability' | 'logit';
  /** Divisor of logits. */
  readonly logitScale: number;
  /** Text around query and document, for services that join them; null: the service has the template. */
  readonly template: RerankTemplate | null;
  /** Maximum number of texts per request, and of UTF-16 units in total. */
  readonly batchTextsMax: number;
  readonly batchUnitsMax: number;
  /** Maximum UTF-16 units of one text; longer texts are truncated. */
  readonly textUnitsMax: number;
}

/** Tolerated rounding error of scores outside 0..1. */
const roundingTolerance = 0.001;

/** Reranks by an HTTP service. */
export class HttpReranker {
  readonly #options: HttpRerankerOptions;

  constructor(options: HttpRerankerOptions) {
    this.#options = options;
  }

  get provider(): ModelProvider {
    return this.#options.provider;
  }

  /** Returns one score in 0..1 per document. Errors: as `HttpEmbedder.embed`. */
  async score(
    query: string,
    documents: readonly string[],
    { urgent }: { readonly urgent: boolean },
  ): Promise<RerankScores> {
    const { provider } = this.#options;
    const deadline = urgent ? provider.getQueryDeadline() : null;
    const work = Promise.all(
      this.#splitBatches(documents).map((batch) => this.#scoreBatch(toText(query), batch, deadline)),
    );
    const parts = await (urgent ? provider.withQueryTimeout(work) : work);
    const units = query.length + documents.reduce((sum, document) => sum + document.length, 0);
    return { scores: Float32Array.from(parts.flat()), tokens: Math.ceil(units / 4) };
  }

  async #scoreBatch(query: string, batch: readonly string[], deadline: number | null): Promise<number[]> {
    const { provider } = this.#options;
    await provider.semaphore.acquire({ priority: deadline === null ? 'normal' : 'high' });
    try {
      return await provider.request(this.#buildBody(query, batch), deadline, (reply) =>
        this.#parseReply(reply, batch.length),
      );
    } catch (error) {
      throw error instanceof ProviderError ? rejectedTextError(provider.model, error) : error;
    } finally {
      provider.semaphore.release();
    }
  }

  #buildBody(query: string, documents: readonly string[]): object {
    const { dialect, provider, scores, template } = this.#options;
    const pair = { query, documents };
    if (template !== null) {
      pair.query = `${template.query.prefix}${query}${template.query.suffix}`;
      pair.documents = documents.map((document) => `${document}${template.document.suffix}`);
    }
    if (dialect === 'tei')
      return { query: pair.query, texts: pair.documents, raw_scores: scores === 'logit', truncate: true };
    return { model: provider.model, ...pair, top_n: documents.length };
  }

  /** Validates a reply. Errors: `ProviderError` if the reply is invalid. */
  #parseReply(reply: unknown, count: number): number[] {
    const { dialect, scores, logitScale } = this.#options;
    const list = dialect === 'tei' ? reply : (reply as { results?: unknown } | null)?.results;
    if (!Array.isArray(list)) throw new ProviderError('failed', 'reply has no list of scores');
    if (list.length !== count)
      throw new ProviderError('failed', `reply has ${list.length} scores for ${count} texts`);
    return sortByIndex(list).map((entry) => {
      const scored = entry as { score?: unknown; relevance_score?: unknown } | null;
      const score = dialect === 'tei' ? scored?.score : scored?.relevance_score;
      if (typeof score !== 'number' || !Number.isFinite(score))
        throw new ProviderError('failed', 'reply has a score that is not a number');
      if (scores === 'logit') return 1 / (1 + Math.exp(-score / logitScale));
      if (score < -roundingTolerance || score > 1 + roundingTolerance)
        throw new ProviderError(
          'misconfigured',
          `score ${score} is outside 0 to 1. Set QUARRY_RERANK_SCORES to match the service`,
        );
      return Math.min(1, Math.max(0, score));
    });
  }

  /** Splits documents into batches; no documents give no batch and so no request. */
  #splitBatches(documents: readonly string[]): string[][] {
    const { batchTextsMax, batchUnitsMax, textUnitsMax } = this.#options;
    const batches: string[][] = [];
    let units = Number.POSITIVE_INFINITY;
    for (const document of documents) {
      const text = toText(document.slice(0, textUnitsMax));
      const last = batches.at(-1);
      if (last === undefined || last.length >= batchTextsMax || units + text.length > batchUnitsMax) {
        batches.push([text]);
        units = text.length;
      } else {
        last.push(text);
        units += text.length;
      }
    }
    return batches;
  }
}

/** Returns a text as it is sent. Some services reject an empty text. */
function toText(text: string): string {
  return text.toWellFormed().trim() || '-';
}
