import type { AppError } from '../core/app-error.ts';
import { RenderedJson } from '../services/rendered-json.ts';
import { otherErrorFields } from './error-format.ts';
import type { Reply } from './exchange.ts';
import type { ErrorFormat } from './routes/route-description.ts';

/** Status of disconnected clients in metrics and logs; never sent. */
export const clientDisconnectedStatus = 499;
const retryAfterMsDefault = 1_000;

export function jsonReply(status: number, body: unknown, headers: Reply['headers'] = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: body instanceof RenderedJson ? body : Buffer.from(JSON.stringify(body)),
  };
}

export function textReply(
  status: number,
  contentType: string,
  text: string,
  headers: Reply['headers'] = {},
): Reply {
  return { status, headers: { 'content-type': contentType, ...headers }, body: Buffer.from(text) };
}

/**
 * The only conversion of an AppError to status, headers and body. The line break ends the body for terminals.
 */
export function errorReply(error: AppError, format?: ErrorFormat): Reply {
  const { code, status, message } = error;
  const { issues } = error.options;
  const detail = issues ?? message;
  const body = { detail, ...otherErrorFields({ code, status, message, issues }, format) };
  return {
    status: error.status,
    headers: { 'content-type': 'application/json', ...errorHeaders(error) },
    body: Buffer.from(`${JSON.stringify(body)}\n`),
    close: error.code === 'request_timeout',
  };
}

function errorHeaders(error: AppError): Record<string, string> {
  const { retryAfterMs = retryAfterMsDefault, shouldRetry, headers } = error.options;
  // Send no `retry-after` to a client that must not retry.
  const isRetryable = (error.status === 429 || error.status === 503) && shouldRetry !== false;
  return {
    ...(error.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(error.status === 409 || shouldRetry === false ? { 'x-should-retry': 'false' } : {}),
    ...(isRetryable ? { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) } : {}),
    ...(isRetryable ? { 'retry-after-ms': String(Math.max(1, Math.ceil(retryAfterMs))) } : {}),
    ...headers,
  };
}

/** Reply to an internal error: exposes only the request ID, under which the log has the details. */
export function internalErrorReply(requestId: string, format?: ErrorFormat): Reply {
  const detail = `Internal server error. The server log has the details under request ${requestId}.`;
  const body = { detail, ...otherErrorFields({ status: 500, message: detail, code: 'internal' }, format) };
  return {
    status: 500,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(`${JSON.stringify(body)}\n`),
  };
}
