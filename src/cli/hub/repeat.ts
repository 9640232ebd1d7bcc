import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../core/app-error.ts';
import { hasErrorCode } from '../../core/error-code.ts';
import { HubError } from './hub-error.ts';

export interface RepeatOptions {
  readonly signal: AbortSignal;
  /** Milliseconds before the first repetition; they double with each further one. Absent: 500. */
  readonly waitMsFirst?: number;
  /** Returns the bytes that are stored. If they grow, the connection works, and the count starts again. */
  readonly countStored?: () => Promise<number>;
}

/** Attempts without progress, and in total: a hub that ends each connection after a byte does not last for ever. */
const attemptsMax = 5;
const attemptsTotalMax = 100;
const waitMsMax = 30_000;

/** Codes of connections that fail or end early. */
const connectionErrors = [
  ...['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENETUNREACH', 'EHOSTUNREACH', 'EAI_AGAIN'],
  ...['UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UND_ERR_ABORTED', 'ERR_STREAM_PREMATURE_CLOSE'],
];

/** Repeats requests that may succeed later. Errors: AppError with the last reason; other errors as thrown. */
export async function repeatRequests<T>(options: RepeatOptions, attemptOnce: () => Promise<T>): Promise<T> {
  const { signal, waitMsFirst = 500, countStored = async () => 0 } = options;
  let attempts = 0;
  for (let total = 1; ; total += 1) {
    const before = await countStored();
    try {
      return await attemptOnce();
    } catch (error) {
      signal.throwIfAborted();
      const reason = toHubError(error);
      const stored = await countStored();
      attempts = stored > before ? 1 : attempts + 1;
      if (!reason.mayRetry || attempts >= attemptsMax || total >= attemptsTotalMax)
        throw toDownloadError(reason, stored);
      const backoffMs = Math.min(waitMsMax, waitMsFirst * 2 ** (attempts - 1));
      await sleep(reason.retryAfterMs ?? backoffMs, undefined, { signal });
    }
  }
}

/** Returns the reason of a failed request. Other errors are thrown again. */
function toHubError(error: unknown): HubError {
  if (error instanceof HubError) return error;
  if (!hasErrorCode(error, ...connectionErrors)) throw error;
  return new HubError(`the connection broke: ${(error as Error).message}`, { mayRetry: true, cause: error });
}

function toDownloadError(error: HubError, storedBytes: number): AppError {
  const kept = storedBytes > 0 ? ' The downloaded part is kept: run the command again to continue.' : '';
  return new AppError(codeOf(error), `The download failed: ${error.message}.${kept}`, { cause: error });
}

function codeOf({ status, mayRetry }: HubError): 'not_found' | 'forbidden' | 'unavailable' | 'bad_gateway' {
  if (status === 404) return 'not_found';
  if (status === 401 || status === 403) return 'forbidden';
  return mayRetry ? 'unavailable' : 'bad_gateway';
}
