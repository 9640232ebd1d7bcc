import { AppError } from '../core/app-error.ts';
import { addon } from '../index/addon.ts';
import type { NativeRerankerOptions, NativeRerankScores, RerankerHandle } from '../index/native-text.ts';
import type { TokenBag } from './token-bag.ts';

export type { NativeRerankScores } from '../index/native-text.ts';

/** Feature reranker of native/text; runs on rerank threads that all callers of the process share. */
export class NativeReranker {
  readonly #handle: RerankerHandle;

  /** `bag` must use the built-in tokenizer. */
  constructor(
    bag: TokenBag,
    options: Omit<NativeRerankerOptions, 'functionWords'> & { readonly functionWords: readonly string[] },
  ) {
    const functionWords = options.functionWords.join('\n');
    this.#handle = addon.rerankerOpen(bag.tokenizer, bag.handle, { ...options, functionWords });
  }

  /** Sets the number of rerank threads; only effective before the first call of `score` in the process. */
  static useThreads(count: number): void {
    addon.useRerankThreads(count);
  }

  /**
   * Scores documents on one rerank thread at a time; the calling thread only copies the texts. Errors: 503
   * when too many calls wait.
   */
  async score(
    query: string,
    documents: readonly string[],
    priority: 'urgent' | 'background',
  ): Promise<NativeRerankScores> {
    try {
      return await addon.rerankerScore(this.#handle, query, documents, priority === 'urgent');
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'busy') throw error;
      throw new AppError('unavailable', 'The server is busy: the queue of the rerank threads is full.', {
        retryAfterMs: 1_000,
        cause: error,
      });
    }
  }

  /** Returns the inputs of the network, one row per document. */
  computeFeatures(query: string, documents: readonly string[]): Float32Array {
    return addon.rerankerFeatures(this.#handle, query, documents);
  }
}
