import { signal } from '@preact/signals';
import type { HTTPValidationError } from '../../../src/schemas/errors.ts';

/** The one way from a page to the server: JSON there and back, signed in by the cookie. */

/** What the server refused, in its own words, or what went wrong on the way; `status` 0 when no answer came. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly status: number;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;

  constructor(
    detail: string,
    facts: { status: number; requestId?: string | null; retryAfterMs?: number | null },
  ) {
    super(detail);
    this.status = facts.status;
    this.requestId = facts.requestId ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }
}

export const noAnswer = 'The server does not answer. What you entered is still here; try again in a moment.';

const notOurs =
  'Something else answered in the place of the server, perhaps a proxy that wants you to sign in.';

/** Whether the server answers. A call that gets no answer turns it false; a watcher turns it back. */
export const isReachable = signal(true);
/** Counts how often the server came back, so that what failed to load can load again. */
export const returns = signal(0);

/** Asked when a session ended in the middle of the work; resolves when somebody is signed in again. */
let signInAgain: (() => Promise<void>) | null = null;

export function onSessionEnd(handler: () => Promise<void>): void {
  signInAgain = handler;
}

/** For what is not a call but met the end of the session, too: resolves when somebody is signed in again. */
export function renewSession(): Promise<void> {
  return signInAgain === null
    ? Promise.reject(new CallError('Sign in first.', { status: 401 }))
    : signInAgain();
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The organisation that the call works in, for the retrieval side. */
  readonly organizationId?: string | undefined;
  /** `person` (usual): a session that ended is renewed and the call goes on. `anybody`: a 401 is an answer like others. */
  readonly as?: 'person' | 'anybody';
}

/** Errors: `CallError`; `AbortError` of the given signal. */
export async function call<Reply>(
  path: string,
  request: unknown = {},
  options: CallOptions = {},
): Promise<Reply> {
  for (;;) {
    try {
      return await callOnce<Reply>(path, request, options);
    } catch (error) {
      const isOver = error instanceof CallError && error.status === 401 && options.as !== 'anybody';
      if (!isOver) throw error;
      await renewSession();
    }
  }
}

async function callOnce<Reply>(path: string, request: unknown, options: CallOptions): Promise<Reply> {
  const { signal: abort, organizationId } = options;
  const response = await answered(
    fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(organizationId === undefined ? {} : { 'x-quarry-organization': organizationId }),
      },
      body: JSON.stringify(request),
      ...(abort === undefined ? {} : { signal: abort }),
    }),
  );
  const text = await answered(response.text());
  if (!response.ok) throw refusal(response.status, text, (name) => response.headers.get(name));
  try {
    return JSON.parse(text) as Reply;
  } catch {
    throw new CallError(notOurs, { status: response.status });
  }
}

async function answered<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    isReachable.value = false;
    throw new CallError(noAnswer, { status: 0 });
  }
}

/** The error that a reply stands for. */
export function refusal(status: number, text: string, header: (name: string) => string | null): CallError {
  const wait = header('retry-after-ms');
  const facts = {
    status,
    requestId: header('x-request-id'),
    retryAfterMs: wait === null ? null : Number(wait),
  };
  return new CallError(detailOf(text) ?? `The server answered with status ${status}.`, facts);
}

function detailOf(text: string): string | null {
  let body: { detail?: unknown };
  try {
    body = JSON.parse(text) as { detail?: unknown };
  } catch {
    return null; // a proxy's page, which says nothing that helps
  }
  if (typeof body.detail === 'string') return body.detail;
  if (!Array.isArray(body.detail)) return null;
  const issues = body.detail as NonNullable<HTTPValidationError['detail']>;
  return issues.map(({ loc, msg }) => `${loc.slice(1).join('.') || 'The request'} ${msg}`).join('; ');
}

/** The sentence to show for whatever was thrown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
