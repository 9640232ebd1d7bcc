import { AppError } from './app-error.ts';

export interface ModelUnavailableErrorOptions {
  /** Milliseconds after which it is worth asking again. */
  readonly retryAfterMs: number;
  readonly privateDetails?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** A model does not answer, through no fault of the one who asked: what needs it waits, or does without. */
export class ModelUnavailableError extends AppError {
  readonly model: string;
  /** Half a sentence without secrets or addresses: what is the matter. */
  readonly reason: string;

  constructor(model: string, reason: string, options: ModelUnavailableErrorOptions) {
    super('unavailable', `The model ${JSON.stringify(model)} does not answer: ${reason}.`, options);
    this.model = model;
    this.reason = reason;
  }
}
