import { AppError } from '../core/app-error.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import { IndexError } from '../index/collection-index.ts';

/** Runs a call to the index and maps index errors to user errors. */
export async function callIndex<Result>(
  caller: CancellationToken,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof IndexError ? toAppError(error, caller) : error;
  }
}

function toAppError(error: IndexError, caller: CancellationToken): unknown {
  const cause = { cause: error };
  switch (error.code) {
    case 'busy':
      return new AppError('unavailable', 'Too many searches are waiting. Try again shortly.', {
        retryAfterMs: 500,
        ...cause,
      });
    case 'deadline':
      return new AppError('unavailable', 'The search timed out. Try again shortly.', {
        retryAfterMs: 2_000,
        ...cause,
      });
    case 'damaged':
      return new AppError('unavailable', 'The collection is being repaired. Try again shortly.', {
        retryAfterMs: 1_000,
        ...cause,
      });
    case 'canceled':
      // Canceled by the caller: rethrow the caller's reason. Otherwise the shards were closed during the
      // search.
      return caller.isCanceled ? caller.signal.reason : collectionDeleted(error);
    case 'closed':
      return collectionDeleted(error);
    case 'memory':
    case 'io':
      return new AppError(
        'unavailable',
        'The server is out of memory or cannot read its disk. Try again later.',
        {
          retryAfterMs: 5_000,
          ...cause,
        },
      );
    default:
      return error;
  }
}

function collectionDeleted(cause: IndexError): AppError {
  return new AppError('not_found', 'The collection was deleted during the search.', { cause });
}
