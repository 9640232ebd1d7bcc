import type { Cookie, CookieName } from '../accounts/visitor.ts';
import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';

/** What a request shows of who sent it. */
export interface Credentials {
  /** Upper case. */
  readonly method: string;
  header(name: string): string | undefined;
  /** `https://host:port` under which the request came. */
  readonly ownOrigin: () => string;
}

/** `Bearer`, blanks, and a token of printable characters; nothing longer than the longest key is looked at. */
const bearerShape = /^Bearer +([\x21-\x7e]{1,256}) *$/i;
/** A browser sends a cookie with this prefix only back to the host that set it, over https, whatever its path. */
const hostPrefix = '__Host-';

/** The token of an `Authorization` header; undefined when it is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : bearerShape.exec(authorization)?.[1];
}

/** The value of one of our cookies; undefined when there is none, and when the header is longer than it needs to be. */
export function cookieOf(header: string | undefined, name: CookieName): string | undefined {
  if (header === undefined || header.length > limits.cookieBytesMax) return undefined;
  const pairs = header.split(/[;,] */).map((pair) => pair.split('=', 2));
  const named = (wanted: string) => pairs.find(([given]) => given === wanted)?.[1];
  return named(hostPrefix + name) ?? named(name);
}

/** `Set-Cookie`: no script can read it, no other site can send it along. Null as value takes it away. */
export function setCookie(cookie: Cookie, isSecure: boolean): string {
  const name = isSecure ? hostPrefix + cookie.name : cookie.name;
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${cookie.value ?? ''}; Path=/; Max-Age=${cookie.seconds}; HttpOnly; SameSite=Lax${secure}`;
}

/**
 * Refuses a request that another site made a browser send: a browser sends cookies along whoever made it ask. 403 unless
 * it says that it comes from a page of this server, and as something that no plain form can send.
 */
export function refuseForeign({ method, header, ownOrigin }: Credentials): void {
  const site = header('sec-fetch-site');
  const origin = header('origin');
  const isOurs = site === undefined ? origin === ownOrigin() : site === 'same-origin';
  const isJson = /^application\/json\s*(;|$)/i.test(header('content-type') ?? '');
  if (isOurs && (method === 'PUT' || isJson)) return;
  throw new AppError(
    'forbidden',
    'A request that is signed in by a cookie must come from a page of this server, as JSON; programs send a bearer token instead.',
  );
}
