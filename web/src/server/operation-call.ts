import { callApi } from './api-call.ts';
import { organizationId } from './session.ts';

/** Calls an operation of `/v1` in the selected organization. Errors: those of `callApi`. */
export function callOperation<Reply>(
  path: string,
  request: unknown,
  signal?: AbortSignal | undefined,
): Promise<Reply> {
  return callApi<Reply>(`/v1${path}`, request, { organizationId: organizationId(), signal });
}
