/** Problem with one field of a request (status 422). */
export interface RequestIssue {
  /** Path to the field: `["body", "content", "type"]`. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** Base class of all errors of this package. */
export class QuarryError extends Error {
  override readonly name: string = 'QuarryError';
}

/** Error reply of the server. `message` is the message of the server. */
export class QuarryApiError extends QuarryError {
  override readonly name = 'QuarryApiError';
  /** HTTP status, 400 or more; a status below 300 if a successful reply could not be read. */
  readonly status: number;
  /** Problems of the request, for status 422; otherwise empty. */
  readonly issues: readonly RequestIssue[];
  /** ID of the request in the log of the server; null if the reply has none. */
  readonly requestId: string | null;
  /** Name of the limit of the organization that was reached, for status 429; null for all others. */
  readonly limit: string | null;
  /** Milliseconds that the server asks to wait before a retry; null if it does not specify them. */
  readonly retryAfterMs: number | null;
  /** Whether the same request may succeed later. */
  readonly mayRetry: boolean;

  constructor(response: Response, text: string) {
    const detail = parseDetail(text);
    super(messageOf(response, detail));
    this.status = response.status;
    this.issues = Array.isArray(detail) ? (detail as RequestIssue[]) : [];
    this.requestId = response.headers.get('x-request-id');
    this.limit = response.headers.get('x-quarry-limit');
    this.retryAfterMs = parseRetryAfterMs(response.headers);
    const advice = response.headers.get('x-should-retry');
    this.mayRetry = advice === null ? retriedStatuses.has(response.status) : advice === 'true';
  }
}

/** Statuses that the documentation of errors describes as temporary. */
const retriedStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503]);

/** The server did not respond: no connection, or the connection ended early. `cause` is the error of `fetch`. */
export class QuarryConnectionError extends QuarryError {
  override readonly name = 'QuarryConnectionError';
  /** Whether the server cannot have received the request. */
  readonly isBeforeRequest: boolean;

  constructor(origin: string, cause: unknown) {
    const code = codeOf(cause);
    super(
      `Cannot reach a Quarry server at ${origin} (${code ?? messageOfCause(cause)}). Check the base URL and that the server is running.`,
      { cause },
    );
    this.isBeforeRequest = code !== null && codesBeforeRequest.has(code);
  }
}

/** Codes of Node.js for connections that were not established. */
const codesBeforeRequest: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** No complete reply within `timeoutMs`. The server may have executed the request. */
export class QuarryTimeoutError extends QuarryError {
  override readonly name = 'QuarryTimeoutError';

  constructor(timeoutMs: number) {
    super(
      `The server did not reply within ${timeoutMs} ms. Set a larger timeoutMs, or send a smaller request.`,
    );
  }
}

/** Returns the error message of a reply: `detail` is a sentence, or with 422 a list of issues. */
function messageOf(response: Response, detail: unknown): string {
  if (typeof detail === 'string') return detail;
  if (Array.isArray(detail)) {
    return (detail as RequestIssue[]).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
  }
  return `${response.url} returned status ${response.status} without a reply of Quarry. Check the base URL.`;
}

function parseDetail(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly detail?: unknown } | null)?.detail;
  } catch {
    // Not a reply of Quarry: only its status can be reported.
    return undefined;
  }
}

function parseRetryAfterMs(headers: Headers): number | null {
  const milliseconds = headers.get('retry-after-ms');
  if (milliseconds !== null && /^\d+$/.test(milliseconds)) return Number(milliseconds);
  const seconds = headers.get('retry-after');
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1_000 : null;
}

/** Returns the code of the innermost cause of an error of `fetch`, which is one or two levels deep. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  const { code } = error as { readonly code?: unknown };
  return codeOf(inner) ?? (typeof code === 'string' ? code : null);
}

function messageOfCause(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
