import type { AccountResponse, ClientInfo, CookieName } from '../accounts/client-info.ts';
import { formatSetCookie, parseBearerToken, readCookie, rejectCsrf } from '../auth/credentials.ts';
import { htmlPagePolicy } from '../core/html-page.ts';
import { limits } from '../core/limits.ts';
import type { Exchange, Reply } from './exchange.ts';
import { type OriginSettings, resolveBaseUrl, resolveClientAddress } from './origin.ts';
import { jsonReply, textReply } from './replies.ts';

/**
 * Cookies that a browser sends along even when another site triggers the request, so they need the CSRF
 * check.
 */
const sessionCookies: ReadonlySet<CookieName> = new Set(['session', 'admin']);

/**
 * Returns the caller of an account operation. Reading a session cookie of a cross-site request is rejected
 * (CSRF).
 */
export function toClientInfo(exchange: Exchange, settings: OriginSettings): ClientInfo {
  const credentials = {
    method: exchange.method,
    header: (name: string) => exchange.header(name),
    ownOrigin: () => resolveBaseUrl(exchange, settings),
  };
  return {
    address: resolveClientAddress(exchange, settings),
    userAgent: (exchange.header('user-agent') ?? '').slice(0, limits.userAgentUnitsMax),
    cookie: (name) => {
      const value = readCookie(credentials, name);
      if (value !== undefined && sessionCookies.has(name)) rejectCsrf(credentials);
      return value;
    },
    sessionToReplace: (name) => readCookie(credentials, name),
    origin: credentials.ownOrigin,
    bearer: parseBearerToken(exchange.header('authorization')),
    idempotencyKey: exchange.header('idempotency-key'),
    isBrowser: exchange.header('sec-fetch-site') !== undefined || exchange.header('origin') !== undefined,
    wantsJson: /\bapplication\/json\b/i.test(exchange.header('accept') ?? ''),
  };
}

/** Converts the outcome of an account operation to a reply. `success` is the HTTP status of JSON replies. */
export function toReply(
  outcome: AccountResponse<unknown>,
  success: number,
  { exchange, settings }: { readonly exchange: Exchange; readonly settings: OriginSettings },
): Reply {
  const isSecure = resolveBaseUrl(exchange, settings).startsWith('https:');
  const cookies = [...(outcome.earlierCookies ?? []), ...(outcome.cookie ? [outcome.cookie] : [])];
  const reply = replyOf(outcome, success);
  return { ...reply, cookies: cookies.map((cookie) => formatSetCookie(cookie, isSecure)) };
}

function replyOf(outcome: AccountResponse<unknown>, success: number): Reply {
  const headers = { 'referrer-policy': 'no-referrer' };
  switch (outcome.kind) {
    case 'json':
      return jsonReply(success, outcome.body, headers);
    case 'page':
      return textReply(200, 'text/html; charset=utf-8', outcome.html, {
        'content-security-policy': htmlPagePolicy,
        ...headers,
      });
    case 'redirect':
      return textReply(outcome.status ?? 302, 'text/plain; charset=utf-8', `${outcome.to}\n`, {
        location: outcome.to,
        ...headers,
      });
  }
}
