/** A request to the hub that failed. */
export class HubError extends Error {
  override readonly name = 'HubError';
  /** Status of the reply; null without one. */
  readonly status: number | null;
  /** Whether the same request may succeed later. */
  readonly mayRetry: boolean;
  /** Milliseconds that the hub asks to wait; null if not specified. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    options: { status?: number; mayRetry?: boolean; retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = options.status ?? null;
    this.mayRetry = options.mayRetry ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
