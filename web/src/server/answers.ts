import { readServerSentEvents } from '../../../src/core/server-sent-events.ts';
import type { AnswerRequest, AnswerResponse, AnswerSentence } from '../../../src/schemas/answers.ts';
import { texts } from '../texts/en/server.ts';
import { ApiError, openStream } from './api-call.ts';
import { listModels } from './retrieval.ts';
import { organizationId } from './session.ts';

/** Name of the chat model of the server; null if answers are disabled. */
export async function getChatModel(): Promise<string | null> {
  return (await listModels()).chat_model;
}

const incompleteMessage = texts.theConnectionEndedBeforeThe;

/**
 * Lets the chat model answer a question. `onSentence` is called with each sentence as soon as it is complete. Errors:
 * `ApiError`; `AbortError` of the signal.
 */
export async function streamAnswer(
  request: Omit<AnswerRequest, 'stream'>,
  {
    signal,
    onSentence,
  }: { readonly signal: AbortSignal; readonly onSentence: (sentence: AnswerSentence) => void },
): Promise<AnswerResponse> {
  const options = { signal, organizationId: organizationId() };
  const body = await openStream('/v1/answers', { ...request, stream: true }, options);
  try {
    for await (const { type, data } of readServerSentEvents(readPieces(body))) {
      if (type === 'sentence') onSentence(JSON.parse(data) as AnswerSentence);
      if (type === 'answer') return JSON.parse(data) as AnswerResponse;
      if (type === 'error') throw toError(JSON.parse(data) as StreamedError);
    }
  } catch (error) {
    // A connection that breaks is a `TypeError`.
    if (!(error instanceof TypeError)) throw error;
  }
  throw new ApiError(incompleteMessage, { status: 0 });
}

interface StreamedError {
  readonly status: number;
  readonly detail: string;
}

function toError({ status, detail }: StreamedError): ApiError {
  return new ApiError(detail, { status });
}

/** Browsers without an iterator of streams need the reader. */
async function* readPieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined); // the stream may have failed already
  }
}
