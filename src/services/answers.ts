import { answerLimits } from '../core/answer-limits.ts';
import { AppError } from '../core/app-error.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Random } from '../core/ids.ts';
import type { ChatUsage } from '../models/chat-events.ts';
import type { ChatCompletion, ChatModel } from '../models/chat-model.ts';
import type { AnswerRequest, AnswerResponse, AnswerSentence } from '../schemas/answers.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { SnippetResponse, TopSnippetsResponse } from '../schemas/queries.ts';
import { AnswerBuilder } from './answer-builder.ts';
import { createAnswerPrompt } from './answer-prompt.ts';
import type { ServiceCall } from './call.ts';
import { CitationParser } from './citation-parser.ts';
import { type EventStream, produceEvents, type StreamEvent } from './event-stream.ts';
import type { QueryServices } from './queries.ts';

export const answerOutcomes = [
  'answered',
  ...(['no_snippets', 'no_answer', 'no_citations'] as const),
  'failed',
  'canceled',
] as const;
export type AnswerOutcome = (typeof answerOutcomes)[number];

export interface AnswerServicesOptions {
  /** Null if none is configured: every call then fails. */
  readonly chat: Pick<ChatModel, 'model' | 'complete' | 'checkAvailable'> | null;
  readonly queries: Pick<QueryServices, 'topSnippets'>;
  /** Bounds the answers that the model writes, with fair shares. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  readonly random: Pick<Random, 'bytes'>;
  /** Maximum milliseconds of the model for one answer. */
  readonly answerMsMax: number;
  /** Called once per answer, with the tokens if the service reports them. */
  readonly record: (outcome: AnswerOutcome, usage: ChatUsage | null) => void;
}

type OrganizationCall = ServiceCall<OrganizationPrincipal>;
type Retrieval = Pick<TopSnippetsResponse, 'warnings'> & { readonly snippets: readonly SnippetResponse[] };

interface AnswerWork {
  readonly request: AnswerRequest;
  readonly retrieval: Retrieval;
  readonly chat: NonNullable<AnswerServicesOptions['chat']>;
  readonly signal: AbortSignal;
  readonly onSentence: (sentence: AnswerSentence) => void;
}

/**
 * Answers questions with a chat model, from snippets that the caller may read. Neither questions nor answers are stored
 * or logged.
 */
export class AnswerServices {
  readonly #options: AnswerServicesOptions;

  constructor(options: AnswerServicesOptions) {
    this.#options = options;
  }

  /**
   * Errors: 503 if no chat model is configured or it does not respond, 429 with too many waiting answers, 502 for an
   * unusable reply of the model, and those of `topSnippets`.
   */
  async answer(call: OrganizationCall, request: AnswerRequest): Promise<AnswerResponse> {
    const chat = await this.#start(call);
    try {
      const retrieval = await this.#retrieve(call, request);
      const { signal } = call.cancellation;
      return await this.#record(call, { request, retrieval, chat, signal, onSentence: () => {} });
    } finally {
      this.#options.semaphore.release();
    }
  }

  /**
   * Same as `answer`, with an event for each sentence. `isAllowed` is called before each of them: a key that was deleted
   * or changed ends the stream. Errors of the model are events.
   */
  async streamAnswer(
    call: OrganizationCall,
    request: AnswerRequest,
    isAllowed: () => boolean,
  ): Promise<EventStream> {
    const chat = await this.#start(call);
    let isOpen = true;
    const close = () => {
      if (isOpen) this.#options.semaphore.release();
      isOpen = false;
    };
    try {
      const retrieval = await this.#retrieve(call, request);
      const events = produceEvents((emit) =>
        this.#produce(call, { request, retrieval, chat, isAllowed, emit }).finally(close),
      );
      return { events, close, isAwaitedAtStop: true };
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Waits for a permit, which the caller releases. */
  async #start(call: OrganizationCall): Promise<NonNullable<AnswerServicesOptions['chat']>> {
    const { chat, semaphore } = this.#options;
    if (chat === null) throw disabledError();
    chat.checkAvailable();
    const pause = semaphore.acquire(call.principal.organizationId, call.cancellation);
    if (pause !== null) await pause;
    return chat;
  }

  async #retrieve(call: OrganizationCall, request: AnswerRequest): Promise<Retrieval> {
    const { question, k, max_tokens: _tokens, stream: _stream, ...options } = request;
    const query = { ...options, query: question, k: k ?? answerLimits.snippetsDefault };
    // Keeps the question out of the log of slow queries, as for organizations with zero data retention.
    const silent = { ...call, principal: { ...call.principal, zdr: true } };
    const reply = (await this.#options.queries.topSnippets(silent, query)).parse();
    const { warnings } = reply;
    return { snippets: reply.results, ...(warnings === undefined ? {} : { warnings }) };
  }

  async #produce(
    call: OrganizationCall,
    {
      isAllowed,
      emit,
      ...work
    }: Pick<AnswerWork, 'request' | 'retrieval' | 'chat'> & {
      readonly isAllowed: () => boolean;
      readonly emit: (event: StreamEvent) => void;
    },
  ): Promise<void> {
    const controller = new AbortController();
    const { cancellation } = call;
    cancellation.onCanceled(() => controller.abort(cancellation.signal.reason));
    // Clients learn at once that the request was accepted.
    emit({ type: null });
    try {
      const data = await this.#record(call, {
        ...work,
        signal: controller.signal,
        onSentence: (sentence) => {
          if (isAllowed()) emit({ type: 'sentence', data: sentence });
          else controller.abort(revokedError());
        },
      });
      controller.signal.throwIfAborted();
      emit({ type: 'answer', data });
    } catch (error) {
      if (!(error instanceof AppError)) {
        // A client that has left gets no event.
        if (cancellation.isCanceled) return;
        throw error;
      }
      emit({ type: 'error', data: { status: error.status, detail: error.message } });
    }
  }

  async #record(call: OrganizationCall, work: AnswerWork): Promise<AnswerResponse> {
    const { record } = this.#options;
    try {
      const { reply, usage } = await this.#write(work);
      record(reply.reason ?? 'answered', usage);
      return reply;
    } catch (error) {
      record(call.cancellation.isCanceled ? 'canceled' : 'failed', null);
      throw error;
    }
  }

  async #write({ request, retrieval, chat, signal, onSentence }: AnswerWork) {
    const { snippets, warnings } = retrieval;
    const builder = new AnswerBuilder(snippets, onSentence);
    let completion: ChatCompletion | null = null;
    if (snippets.length > 0) {
      const parser = new CitationParser();
      const texts = snippets.map(({ content }) => content);
      const prompt = { question: request.question, snippets: texts };
      completion = await chat.complete({
        messages: createAnswerPrompt(prompt, this.#options.random),
        tokensMax: request.max_tokens ?? answerLimits.tokensDefault,
        msMax: this.#options.answerMsMax,
        signal,
        onText: (piece) => builder.add(parser.push(piece)),
      });
      builder.add(parser.end());
    }
    const usage = completion?.usage ?? null;
    const reply: AnswerResponse = {
      ...builder.finish(),
      is_truncated: completion?.isTruncated ?? false,
      model: chat.model,
      usage:
        usage === null
          ? null
          : { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens },
      ...(warnings === undefined ? {} : { warnings }),
    };
    return { reply, usage };
  }
}

function disabledError(): AppError {
  return new AppError(
    'unavailable',
    'Answers are disabled on this server: QUARRY_CHAT_URL is not set. Ask the operator to set it to the URL of a chat model.',
    { shouldRetry: false },
  );
}

function revokedError(): AppError {
  return new AppError(
    'unauthorized',
    'The API key was deleted or changed while the answer was written. Send the question again with a valid key.',
  );
}
