import { answerLimits } from '../core/answer-limits.ts';
import { AppError } from '../core/app-error.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import { type ChatUsage, readChatEvents } from './chat-events.ts';
import type { ModelProvider } from './model-provider.ts';
import { ProviderError, postForEvents } from './post-json.ts';
import { ThoughtFilter } from './thought-filter.ts';

/**
 * compatible: `max_tokens` and `temperature` (Ollama, vLLM, llama.cpp, most services); openai: `max_completion_tokens`
 * and no temperature, which current models of OpenAI require.
 */
export const chatDialects = ['compatible', 'openai'] as const;
export type ChatDialect = (typeof chatDialects)[number];

export interface ChatMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tokensMax: number;
  /** Maximum milliseconds, all attempts together. */
  readonly msMax: number;
  /** Aborts the request; its reason is then the error. */
  readonly signal: AbortSignal;
  /** Receives the text piece by piece. */
  readonly onText: (piece: string) => void;
}

export interface ChatCompletion {
  /** Whether the text ended because of `tokensMax`. */
  readonly isTruncated: boolean;
  /** Null if the service does not report it. */
  readonly usage: ChatUsage | null;
}

export interface ChatModelOptions {
  readonly provider: ModelProvider;
  readonly dialect: ChatDialect;
}

/** Chat model behind an HTTP service with the API of OpenAI. */
export class ChatModel {
  readonly #options: ChatModelOptions;

  constructor(options: ChatModelOptions) {
    this.#options = options;
  }

  get provider(): ModelProvider {
    return this.#options.provider;
  }

  get model(): string {
    return this.provider.model;
  }

  /** Errors: `ModelUnavailableError` while the circuit breaker rejects requests. */
  checkAvailable(): void {
    this.provider.checkAvailable();
  }

  /**
   * Streams a reply of the model. A failed request is repeated until the reply begins. Errors: `ModelUnavailableError`
   * if the service does not respond, 502 if its reply is unusable or it rejects the messages, and the reason of the
   * signal.
   */
  async complete(request: ChatRequest): Promise<ChatCompletion> {
    let hasReply = false;
    try {
      return await this.provider.exchange({
        deadline: this.provider.getDeadline(request.msMax),
        mayRepeat: () => !hasReply,
        post: (url, options) => {
          const { signal } = request;
          const bounds = { replyBytesMax: answerLimits.replyBytesMax, signal };
          return postForEvents(url, this.#buildBody(request), { ...options, ...bounds }, (pieces) => {
            hasReply = true;
            return readCompletion(pieces, request.onText);
          });
        },
      });
    } catch (error) {
      if (error instanceof ProviderError) throw this.#rejectedError(error);
      if (hasReply && error instanceof ModelUnavailableError) throw this.#unusableReplyError(error);
      throw error;
    }
  }

  #buildBody({ messages, tokensMax }: ChatRequest): object {
    const { dialect, provider } = this.#options;
    const options =
      dialect === 'openai' ? { max_completion_tokens: tokensMax } : { max_tokens: tokensMax, temperature: 0 };
    const stream = { stream: true, stream_options: { include_usage: true } };
    return { model: provider.model, messages, ...options, ...stream };
  }

  #unusableReplyError(error: ModelUnavailableError): AppError {
    const detail = `The chat model ${JSON.stringify(this.model)} sent an unusable reply: ${error.reason}. Try again, or ask the operator of this server to check the service.`;
    return new AppError('bad_gateway', detail, { cause: error, shouldRetry: false });
  }

  #rejectedError(error: ProviderError): AppError {
    const detail = `The chat model ${JSON.stringify(this.model)} rejected the request: ${error.message}. Its context may be too short: send a smaller k, or ask the operator of this server.`;
    return new AppError('bad_gateway', detail, { cause: error, shouldRetry: false });
  }
}

/** Errors: `ProviderError` for an unusable reply. */
async function readCompletion(
  pieces: AsyncIterable<Uint8Array>,
  onText: (piece: string) => void,
): Promise<ChatCompletion> {
  const filter = new ThoughtFilter();
  let units = 0;
  let isTruncated = false;
  let usage: ChatUsage | null = null;
  for await (const event of readChatEvents(pieces)) {
    units += event.text.length;
    if (units > answerLimits.textUnitsMax)
      throw new ProviderError('failed', `text exceeds ${answerLimits.textUnitsMax} characters`);
    if (event.finishReason === 'length') isTruncated = true;
    usage = event.usage ?? usage;
    onText(filter.push(event.text));
  }
  onText(filter.finish());
  return { isTruncated, usage };
}
