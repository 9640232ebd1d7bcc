import { AppError } from '../../core/app-error.ts';

/** `reason`: why the server is not ready, as a sentence. */
export function notReadyError(reason: string): AppError {
  return new AppError('unavailable', reason, { retryAfterMs: 2_000 });
}
