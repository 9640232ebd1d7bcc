import type * as factors from '../../../src/schemas/second-factors.ts';
import { callApi } from './api-call.ts';

/** Second factor operations, for the signed-in user or for the administrator. */
export interface SecondFactorCalls {
  readonly status: (signal?: AbortSignal) => Promise<factors.SecondFactorStatusResponse>;
  readonly begin: () => Promise<factors.BeginSecondFactorResponse>;
  readonly confirm: (code: string) => Promise<factors.ConfirmSecondFactorResponse>;
  readonly disable: (code: string) => Promise<unknown>;
}

export const ownSecondFactor: SecondFactorCalls = {
  status: (signal) => callApi('/api/users/get-second-factor', {}, { signal }),
  begin: () => callApi('/api/users/begin-second-factor'),
  confirm: (code) => callApi('/api/users/confirm-second-factor', { code }),
  disable: (code) => callApi('/api/users/disable-second-factor', { code }),
};

/** A 401 is a regular error here: it does not mean that the user's session has ended. */
const publicCall = { as: 'public' } as const;

export const administratorSecondFactor: SecondFactorCalls = {
  status: (signal) => callApi('/v1/admin/get-administrator-second-factor', {}, { signal, ...publicCall }),
  begin: () => callApi('/v1/admin/begin-administrator-second-factor', {}, publicCall),
  confirm: (code) => callApi('/v1/admin/confirm-administrator-second-factor', { code }, publicCall),
  disable: (code) => callApi('/v1/admin/disable-administrator-second-factor', { code }, publicCall),
};

/** Completes a sign-in with the second factor. The state of the first step is in a cookie. */
export function finishSecondFactor(code: string): Promise<factors.FinishSecondFactorResponse> {
  return callApi('/api/auth/second-factor', { code }, publicCall);
}
