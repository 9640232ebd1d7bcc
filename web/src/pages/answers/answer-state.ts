import { signal } from '@preact/signals';
import type { AnswerRequest, AnswerResponse, AnswerSentence } from '../../../../src/schemas/answers.ts';
import { persistedSignal } from '../../browser/persisted-signal.ts';
import { getChatModel, streamAnswer } from '../../server/answers.ts';
import type { SearchReplies, SearchReplyBody } from '../search-query.ts';

/** The answer to the last query of the search page. It persists while other pages are shown. */

export interface Answer {
  /** `stopped`: by the user. */
  readonly state: 'writing' | 'complete' | 'stopped' | 'failed';
  readonly sentences: readonly AnswerSentence[];
  /** Null unless the answer is complete. */
  readonly reply: AnswerResponse | null;
  /** Null unless the answer has failed. */
  readonly error: unknown;
}

/** Name of the chat model; null if answers are disabled, and until the name is known. */
export const chatModel = signal<string | null>(null);

/** Null: each search asks the model. */
const setting = persistedSignal('answers');
const onRequest = 'on-request';

let modelRequest: Promise<void> | null = null;
/** The answer, and the question with its settings. */
const lastAnswer = signal<(Answer & { readonly key: string }) | null>(null);
let running: AbortController | null = null;

/** Loads the name of the chat model once. */
export function loadChatModel(): Promise<void> {
  modelRequest ??= getChatModel().then(
    (name) => {
      chatModel.value = name;
    },
    () => {
      // The search reports that the server does not respond, and the next one tries again.
      modelRequest = null;
    },
  );
  return modelRequest;
}

export function isAutomatic(): boolean {
  return setting.value !== onRequest;
}

export function setAutomatic(isOn: boolean): void {
  setting.value = isOn ? null : onRequest;
}

/** Whether the replies have a question for the model: one query in words, and no second search beside it. */
export function isAnswerable({ first: { request }, second }: SearchReplies): boolean {
  return second === null && request.query?.trim() !== '' && request.similar_to === undefined;
}

export function answerTo(found: SearchReplyBody): Answer | null {
  return lastAnswer.value?.key === keyOf(found) ? lastAnswer.value : null;
}

function keyOf({ organizationId, request }: SearchReplyBody): string {
  return JSON.stringify([organizationId, toAnswerRequest(request)]);
}

/**
 * Lets the model answer a search. The same search repeated, such as on the way back from a document, keeps its answer; an
 * answer to another one ends.
 */
export function answerSearch(replies: SearchReplies): void {
  const known = answerTo(replies.first);
  const isKept = known?.reply === null ? known.state !== 'failed' : known?.reply.reason === null;
  if (isKept) return;
  stopAnswer();
  if (chatModel.peek() !== null && isAutomatic() && isAnswerable(replies)) void startAnswer(replies.first);
}

/** Asks the model with the filter and the settings of the search. A running answer ends. */
export async function startAnswer(found: SearchReplyBody): Promise<void> {
  stopAnswer();
  const controller = new AbortController();
  running = controller;
  const { signal: abort } = controller;
  const update = (changes: Partial<Answer>) => {
    if (lastAnswer.value !== null && !abort.aborted) lastAnswer.value = { ...lastAnswer.value, ...changes };
  };
  lastAnswer.value = { key: keyOf(found), state: 'writing', sentences: [], reply: null, error: null };
  try {
    const reply = await streamAnswer(toAnswerRequest(found.request), {
      signal: abort,
      onSentence: (sentence) => update({ sentences: [...(lastAnswer.peek()?.sentences ?? []), sentence] }),
    });
    update({ state: 'complete', sentences: reply.sentences, reply });
  } catch (error) {
    // Without the end of the reply, its sentences do not count.
    update({ state: 'failed', sentences: [], error });
  } finally {
    if (running === controller) running = null;
  }
}

/** Ends a running answer; its sentences stay. */
export function stopAnswer(): void {
  if (running === null || lastAnswer.value === null) return;
  lastAnswer.value = { ...lastAnswer.value, state: 'stopped' };
  running.abort();
  running = null;
}

function toAnswerRequest(request: SearchReplyBody['request']): Omit<AnswerRequest, 'stream'> {
  const { collection_name, query, filter, reranker, latency_mode, precise_responses } = request as Pick<
    AnswerRequest,
    'collection_name' | 'filter' | 'reranker' | 'latency_mode' | 'precise_responses'
  > & {
    readonly query: string;
  };
  return {
    collection_name,
    question: query,
    include_rectangles: true,
    ...(filter === undefined ? {} : { filter }),
    ...(reranker === undefined ? {} : { reranker }),
    ...(latency_mode === undefined ? {} : { latency_mode }),
    ...(precise_responses === undefined ? {} : { precise_responses }),
  };
}
