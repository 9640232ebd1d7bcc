/**
 * Every trouble a user can cause or meet, in one table. The code decides the status; the detail is the public
 * sentence that names the fault; `privateDetails` go to the log and never to a reply.
 */
export const errorStatus = {
  bad_request: 400,
  unauthorized: 401,
  payment_declined: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  precondition_failed: 400,
  too_large: 413,
  expectation_failed: 417,
  invalid: 422,
  rate_limited: 429,
  bad_gateway: 502,
  queue_full: 429,
  reserve_reached: 429,
  unavailable: 503,
  parse_timeout: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** One entry of a 422 body; `loc` starts with "body" or "query". */
export interface ValidationIssue {
  readonly loc: readonly string[];
  readonly msg: string;
  readonly type: string;
}

export interface AppErrorOptions {
  /** Milliseconds after which the same request may succeed; becomes `retry-after` and `retry-after-ms`. */
  readonly retryAfterMs?: number;
  /** False: official clients must not retry. A conflict is never retried, whatever is said here. */
  readonly shouldRetry?: boolean;
  /** True: an `Idempotency-Key` may be sent again although this broke, because repeating the work is harmless. */
  readonly isRepeatable?: boolean;
  /** Only for `invalid`: the list that becomes the 422 body. */
  readonly issues?: readonly ValidationIssue[];
  /** Extra reply headers, for example `allow` or `www-authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What helps the operator and must not reach the user. */
  readonly privateDetails?: Readonly<Record<string, unknown>>;
  /** Who was refused as a stranger to an organization: its audit log tells its owners. */
  readonly nonMember?: NonMember;
  readonly cause?: unknown;
}

export interface NonMember {
  readonly userId: string;
  /** Null for an organization that does not exist. */
  readonly organizationId: string | null;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly options: AppErrorOptions;

  /** `detail` is a whole sentence: what was wrong and what to do. */
  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.options = options;
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** A 422 with a single issue. */
export function invalidFieldError(loc: readonly string[], msg: string, type = 'value_error'): AppError {
  return new AppError('invalid', msg, { issues: [{ loc, msg, type }] });
}
