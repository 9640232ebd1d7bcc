import { AppError } from '../core/app-error.ts';

/** Errors with status 503 of collections that cannot be used at the moment. */

export function modelChangeInProgress(): AppError {
  return new AppError('unavailable', 'The model of the collection is being changed. Try again shortly.', {
    retryAfterMs: 250,
  });
}

export function repairInProgress(): AppError {
  return new AppError('unavailable', 'The collection is being repaired. Try again shortly.', {
    retryAfterMs: 1_000,
  });
}
