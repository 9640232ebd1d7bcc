import { AppError } from '../../core/app-error.ts';

export function shuttingDownError(): AppError {
  return new AppError('unavailable', 'The server is shutting down. Try again shortly.', {
    retryAfterMs: 1_000,
  });
}

/** `reason`: why the server is not ready, as a sentence. */
export function notReadyError(reason: string): AppError {
  return new AppError('unavailable', reason, { retryAfterMs: 2_000 });
}
