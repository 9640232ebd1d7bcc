import { AppError } from '../base/app-error.ts';
import type { Caller } from '../base/caller.ts';
import { IndexError } from '../engine/collection-index.ts';

/**
 * Runs a question to the shards, with the trouble that a caller may meet said in the caller's words. What is answered at
 * once is answered at once.
 */
export function askIndex<Answer>(
  caller: Caller,
  ask: () => Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  const fail = (error: unknown): never => {
    throw error instanceof IndexError ? inCallersWords(error, caller) : error;
  };
  try {
    const answer = ask();
    return answer instanceof Promise ? answer.catch(fail) : answer;
  } catch (error) {
    return fail(error);
  }
}

function inCallersWords(error: IndexError, caller: Caller): unknown {
  const cause = { cause: error };
  switch (error.code) {
    case 'busy':
      return new AppError('unavailable', 'Too many searches are waiting; try again in a moment.', {
        retryAfterMs: 500,
        ...cause,
      });
    case 'deadline':
      return new AppError('unavailable', 'The search did not finish in time.', {
        retryAfterMs: 2_000,
        ...cause,
      });
    case 'damaged':
      return new AppError('unavailable', 'The collection is being repaired; try again in a moment.', {
        retryAfterMs: 1_000,
        ...cause,
      });
    case 'cancelled':
      // Given up for the caller's own reason; without one the shards were closed under the search.
      return caller.gone ? caller.signal.reason : deleted(error);
    case 'closed':
      return deleted(error);
    case 'memory':
    case 'io':
      return new AppError(
        'unavailable',
        'The server lacks memory or cannot read its disk; try again later.',
        {
          retryAfterMs: 5_000,
          ...cause,
        },
      );
    default:
      return error;
  }
}

function deleted(cause: IndexError): AppError {
  return new AppError('not_found', 'The collection was deleted while it was searched.', { cause });
}
