import { readServerSentEvents } from '../core/server-sent-events.ts';
import { ProviderError } from './post-json.ts';

/** Numbers of tokens as the service counts them. */
export interface ChatUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** One event of a streamed chat completion. */
export interface ChatEvent {
  /** Next piece of the text; may be empty. */
  readonly text: string;
  /** `length`: the limit of tokens was reached; null until the text ends. */
  readonly finishReason: string | null;
  readonly usage: ChatUsage | null;
}

interface CompletionChunk {
  readonly error?: unknown;
  readonly choices?: unknown;
  readonly usage?: unknown;
}

const endMark = '[DONE]';

/**
 * Reads the events of a chat completion as OpenAI streams them. Errors: `ProviderError` for a stream that is malformed,
 * reports an error, or ends early. No error quotes the stream, which contains the answer.
 */
export async function* readChatEvents(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<ChatEvent, void, undefined> {
  let isFinished = false;
  for await (const { data } of readServerSentEvents(pieces)) {
    if (data === endMark) return;
    const event = toChatEvent(parseChunk(data));
    if (event.finishReason !== null) isFinished = true;
    yield event;
  }
  if (!isFinished) throw new ProviderError('failed', 'reply ended before the answer was complete');
}

function parseChunk(data: string): CompletionChunk {
  let chunk: unknown;
  try {
    chunk = JSON.parse(data);
  } catch {
    // Without the cause, because its message quotes the answer.
    throw new ProviderError('failed', 'reply has an event that is not JSON');
  }
  if (typeof chunk !== 'object' || chunk === null)
    throw new ProviderError('failed', 'reply has an event that is not an object');
  return chunk;
}

function toChatEvent({ error, choices, usage }: CompletionChunk): ChatEvent {
  if (error !== undefined && error !== null)
    throw new ProviderError('failed', 'the service reported an error while it answered');
  if (choices !== undefined && !Array.isArray(choices))
    throw new ProviderError('failed', 'reply has no list of choices');
  const choice = (choices?.[0] ?? {}) as {
    readonly delta?: { readonly content?: unknown } | null;
    readonly finish_reason?: unknown;
  };
  const content = choice.delta?.content ?? '';
  if (typeof content !== 'string') throw new ProviderError('failed', 'reply has a text that is not a string');
  const finishReason = typeof choice.finish_reason === 'string' ? choice.finish_reason : null;
  return { text: content, finishReason, usage: toUsage(usage) };
}

/** Returns null without usage, which some services do not report. */
function toUsage(usage: unknown): ChatUsage | null {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = Object(usage);
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return isCount(promptTokens) && isCount(completionTokens) ? { promptTokens, completionTokens } : null;
}
