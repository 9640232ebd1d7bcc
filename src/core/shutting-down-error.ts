import { AppError } from './app-error.ts';

/** Error of work that a stopping server rejects or ends. */
export function shuttingDownError(): AppError {
  return new AppError('unavailable', 'The server is shutting down. Try again shortly.', {
    retryAfterMs: 1_000,
  });
}
