import type { ErrorCode, ValidationIssue } from '../core/app-error.ts';
import type { ErrorFormat } from './routes/route-description.ts';

/** An error as the formats of other services describe it. */
export interface ErrorDescription {
  readonly status: number;
  readonly message: string;
  /** `internal`: an error of the server itself. */
  readonly code: ErrorCode | 'internal';
  readonly issues?: readonly ValidationIssue[] | undefined;
}

/** Codes that OpenAI clients know, by error code; null for the others. */
const openAiCodes: Readonly<Partial<Record<ErrorCode | 'internal', string>>> = {
  unauthorized: 'invalid_api_key',
  not_found: 'not_found',
  rate_limited: 'rate_limit_exceeded',
  queue_full: 'rate_limit_exceeded',
  reserve_reached: 'rate_limit_exceeded',
};

/** Returns the fields that clients of another service read, in addition to `detail`. */
export function otherErrorFields(error: ErrorDescription, format: ErrorFormat | undefined): object {
  switch (format) {
    case undefined:
      return {};
    case 'cohere':
      return { message: error.message };
    case 'openai':
      return { error: toOpenAiError(error) };
  }
}

function toOpenAiError({ status, message, code, issues }: ErrorDescription) {
  const [, ...field] = issues?.[0]?.loc ?? [];
  return {
    message,
    type: openAiType(status),
    param: field.length === 0 ? null : field.join('.'),
    code: openAiCodes[code] ?? null,
  };
}

function openAiType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
