import { AppError } from './app-error.ts';

export interface ModelUnavailableErrorOptions {
  /** Milliseconds after which a retry is worthwhile. */
  readonly retryAfterMs: number;
  readonly privateDetails?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * A model does not respond, and the caller is not the cause. Work that needs the model waits or continues
 * without it.
 */
export class ModelUnavailableError extends AppError {
  readonly model: string;
  /** Clause without secrets or addresses that describes the cause. */
  readonly reason: string;

  constructor(model: string, reason: string, options: ModelUnavailableErrorOptions) {
    super('unavailable', `The model ${JSON.stringify(model)} is unavailable: ${reason}.`, options);
    this.model = model;
    this.reason = reason;
  }
}
