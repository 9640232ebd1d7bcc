import { bearerOf, cookieOf, refuseForeign, setCookie } from '../access/credentials.ts';
import type { CookieName, Outcome, Visitor } from '../accounts/visitor.ts';
import { limits } from '../base/limits.ts';
import { plainPagePolicy } from '../base/plain-page.ts';
import type { Exchange, Reply } from './exchange.ts';
import { baseUrlOf, clientAddressOf, type OriginSettings } from './origin.ts';
import { jsonReply, textReply } from './replies.ts';

/** What a browser sends along with whatever page makes it ask. */
const sessionCookies: ReadonlySet<CookieName> = new Set(['session', 'admin']);

/** Who calls the account side, as its operations see them. */
export function visitorOf(exchange: Exchange, settings: OriginSettings): Visitor {
  const credentials = {
    method: exchange.method,
    header: (name: string) => exchange.header(name),
    ownOrigin: () => baseUrlOf(exchange, settings),
  };
  return {
    address: clientAddressOf(exchange, settings),
    userAgent: (exchange.header('user-agent') ?? '').slice(0, limits.userAgentUnitsMax),
    cookie: (name) => {
      const value = cookieOf(credentials, name);
      if (value !== undefined && sessionCookies.has(name)) refuseForeign(credentials);
      return value;
    },
    held: (name) => cookieOf(credentials, name),
    bearer: bearerOf(exchange.header('authorization')),
    idempotencyKey: exchange.header('idempotency-key'),
    isBrowser: exchange.header('sec-fetch-site') !== undefined || exchange.header('origin') !== undefined,
    wantsJson: /\bapplication\/json\b/i.test(exchange.header('accept') ?? ''),
  };
}

/** The reply to it; `success` is the status of JSON. */
export function outcomeReply(
  outcome: Outcome<unknown>,
  success: number,
  { exchange, settings }: { readonly exchange: Exchange; readonly settings: OriginSettings },
): Reply {
  const isSecure = baseUrlOf(exchange, settings).startsWith('https:');
  const cookies = [...(outcome.earlierCookies ?? []), ...(outcome.cookie ? [outcome.cookie] : [])];
  const reply = replyOf(outcome, success);
  return { ...reply, cookies: cookies.map((cookie) => setCookie(cookie, isSecure)) };
}

function replyOf(outcome: Outcome<unknown>, success: number): Reply {
  const headers = { 'referrer-policy': 'no-referrer' };
  switch (outcome.kind) {
    case 'json':
      return jsonReply(success, outcome.body, headers);
    case 'page':
      return textReply(200, 'text/html; charset=utf-8', outcome.html, {
        'content-security-policy': plainPagePolicy,
        ...headers,
      });
    case 'redirect':
      return textReply(outcome.status ?? 302, 'text/plain; charset=utf-8', `${outcome.to}\n`, {
        location: outcome.to,
        ...headers,
      });
  }
}
