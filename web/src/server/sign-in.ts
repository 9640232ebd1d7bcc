import type { AdminStatusResponse, SendMagicLinkResponse } from '../../../src/schemas/sign-in.ts';
import { ApiError, callApi, noReplyMessage, toApiError } from './api-call.ts';

/** Sign-in methods that are configured on this server. */
export interface SignInOptions {
  readonly mail: boolean;
  readonly password: boolean;
  readonly passkey: boolean;
  readonly google: boolean;
  readonly github: boolean;
  readonly administrator: boolean;
  /** Minimum interval between two emails to the same address, in seconds. */
  readonly resend_seconds: number;
}

export async function getSignInOptions(abort: AbortSignal): Promise<SignInOptions> {
  const response = await fetch('/api/auth/options', { signal: abort }).catch((error: unknown) => {
    if (abort.aborted) throw error;
    throw new ApiError(noReplyMessage(), { status: 0 });
  });
  const text = await response.text();
  if (!response.ok) throw toApiError(response.status, text, (name) => response.headers.get(name));
  return JSON.parse(text) as SignInOptions;
}

export function sendMagicLink(email: string, redirect: string): Promise<SendMagicLinkResponse> {
  return callApi('/api/auth/magic-link/send', { email, redirect_url: redirect }, { as: 'public' });
}

/** `code`: code of the second factor; empty if none is set up. */
export function signInAsAdministrator(password: string, code: string): Promise<AdminStatusResponse> {
  const request = code.trim() === '' ? { password } : { password, code };
  return callApi('/api/admin/login', request, { as: 'public' });
}

/** URL that starts a sign-in at a provider, which then redirects to `redirect`. */
export function providerLoginUrl(provider: 'google' | 'github', redirect: string): string {
  return `/api/auth/${provider}/login?${new URLSearchParams({ redirect_url: redirect })}`;
}
