import { signal } from '@preact/signals';
import type { HTTPValidationError } from '../../../src/schemas/errors.ts';
import { texts } from '../texts/en/server.ts';
import { fill } from '../texts/format-text.ts';

/** Calls the server API: JSON in both directions, authenticated by the session cookie. */

/** An error reply of the server with its message, or a network failure; `status` is 0 if no reply arrived. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;

  constructor(
    detail: string,
    details: { status: number; requestId?: string | null; retryAfterMs?: number | null },
  ) {
    super(detail);
    this.status = details.status;
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/** Whether the server replied that the resource does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

export const noReplyMessage = () => texts.theServerIsNotResponding;

/**
 * Whether the server is reachable. A call without a reply sets it to false; `watchReachability` resets it.
 */
export const isReachable = signal(true);
/** Number of times the server became reachable again, so that failed loads can be retried. */
export const reconnectCount = signal(0);

/** Called when a session ends during use; resolves after the user has signed in again. */
let sessionRenewer: (() => Promise<void>) | null = null;

export function onSessionEnd(handler: () => Promise<void>): void {
  sessionRenewer = handler;
}

/** For requests outside `callApi` that receive a 401: resolves after the user has signed in again. */
export function renewSession(): Promise<void> {
  return sessionRenewer === null
    ? Promise.reject(new ApiError(texts.signInToContinue, { status: 401 }))
    : sessionRenewer();
}

export interface ApiCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Organization of the call, for retrieval operations. */
  readonly organizationId?: string | undefined;
  /**
   * `user` (default): an ended session is renewed and the call repeated. `public`: a 401 is an error like others.
   */
  readonly as?: 'user' | 'public';
}

/** Sends a request and returns the reply. Errors: `ApiError`; `AbortError` of the given signal. */
export function callApi<Reply>(
  path: string,
  request: unknown = {},
  options: ApiCallOptions = {},
): Promise<Reply> {
  return repeatAfterSignIn(() => callOnce<Reply>(path, request, options), options);
}

/** Sends a request and returns the body of the reply, while it arrives. Errors: as `callApi`. */
export function openStream(
  path: string,
  request: unknown,
  options: ApiCallOptions,
): Promise<ReadableStream<Uint8Array>> {
  const open = async () => {
    const response = await mapNetworkErrors(send(path, JSON.stringify(request), options));
    if (response.ok && response.body !== null) return response.body;
    const text = await mapNetworkErrors(response.text());
    throw toApiError(response.status, text, (name) => response.headers.get(name));
  };
  return repeatAfterSignIn(open, options);
}

async function repeatAfterSignIn<Reply>(call: () => Promise<Reply>, options: ApiCallOptions): Promise<Reply> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isSessionExpired = error instanceof ApiError && error.status === 401 && options.as !== 'public';
      if (!isSessionExpired) throw error;
      await renewSession();
    }
  }
}

async function callOnce<Reply>(path: string, request: unknown, options: ApiCallOptions): Promise<Reply> {
  return parseReply<Reply>(await sendJson(path, JSON.stringify(request), options));
}

/** Reads a public document. Errors: as `callApi`. */
export async function getJson<Reply>(path: string, signal: AbortSignal): Promise<Reply> {
  return parseReply<Reply>(await receive(fetch(path, { signal })));
}

function parseReply<Reply>({ status, isOk, text, headers }: JsonReply): Reply {
  if (!isOk) throw toApiError(status, text, (name) => headers.get(name));
  try {
    return JSON.parse(text) as Reply;
  } catch {
    throw new ApiError(texts.theReplyDidNotCome, { status });
  }
}

export interface JsonReply {
  readonly status: number;
  /** Whether the status is one of success. */
  readonly isOk: boolean;
  readonly text: string;
  readonly headers: Headers;
}

/**
 * Sends JSON with the session cookie and returns the reply, also one of an error. A body of null: a GET request. Errors:
 * `ApiError` without a reply.
 */
export function sendJson(
  path: string,
  body: string | null,
  options: Omit<ApiCallOptions, 'as'> = {},
): Promise<JsonReply> {
  return receive(send(path, body, options));
}

function send(
  path: string,
  body: string | null,
  { signal: abort, organizationId }: Omit<ApiCallOptions, 'as'>,
): Promise<Response> {
  return fetch(path, {
    method: body === null ? 'GET' : 'POST',
    credentials: 'same-origin',
    headers: {
      // Also without a body: the server accepts the cookie with this type only, which no form of another site can send.
      'content-type': 'application/json',
      accept: 'application/json',
      ...(organizationId === undefined ? {} : { 'x-quarry-organization': organizationId }),
    },
    body,
    ...(abort === undefined ? {} : { signal: abort }),
  });
}

async function receive(request: Promise<Response>): Promise<JsonReply> {
  const response = await mapNetworkErrors(request);
  const { status, ok, headers } = response;
  return { status, isOk: ok, text: await mapNetworkErrors(response.text()), headers };
}

async function mapNetworkErrors<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    isReachable.value = false;
    throw new ApiError(noReplyMessage(), { status: 0 });
  }
}

/** Builds the error for a reply. */
export function toApiError(status: number, text: string, header: (name: string) => string | null): ApiError {
  const wait = header('retry-after-ms');
  const details = {
    status,
    requestId: header('x-request-id'),
    retryAfterMs: wait === null ? null : Number(wait),
  };
  return new ApiError(parseDetail(text) ?? fill(texts.theServerReturnedStatusStatus, { status }), details);
}

function parseDetail(text: string): string | null {
  let body: { detail?: unknown };
  try {
    body = JSON.parse(text) as { detail?: unknown };
  } catch {
    return null; // an HTML page of a proxy, without useful information
  }
  if (typeof body.detail === 'string') return body.detail;
  if (!Array.isArray(body.detail)) return null;
  const issues = body.detail as NonNullable<HTTPValidationError['detail']>;
  return issues.map(({ loc, msg }) => `${loc.slice(1).join('.') || 'The request'} ${msg}`).join('; ');
}

/** Message to show for any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isAbortError(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
