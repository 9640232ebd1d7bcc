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

/**
 * The value of one of our cookies; undefined when there is none, and when the header is longer than it needs to be. Over
 * https only one with the prefix is ours: any other could have been set by a neighbouring host.
 */
export function cookieOf(
  { header, ownOrigin }: Pick<Credentials, 'header' | 'ownOrigin'>,
  name: CookieName,
): string | undefined {
  const cookies = header('cookie');
  if (cookies === undefined || cookies.length > limits.cookieBytesMax) return undefined;
  const wanted = ownOrigin().startsWith('https:') ? hostPrefix + name : name;
  const pairs = cookies.split(';').map((pair) => pair.trim().split('=', 2));
  return pairs.find(([given]) => given === wanted)?.[1];
}

/** `Set-Cookie`: no script can read it, no other site can send it along. Null as value takes it away. */
export function setCookie(cookie: Cookie, isSecure: boolean): string {
  const name = isSecure ? hostPrefix + cookie.name : cookie.name;
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${cookie.value ?? ''}; Path=/; Max-Age=${cookie.seconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** Refuses what a page of another site makes a browser send, with or without a cookie; programs may. 403. */
export function refuseOtherSites({ header, ownOrigin }: Credentials): void {
  const [site, origin] = [header('sec-fetch-site'), header('origin')];
  const isOurs = site === undefined ? origin === undefined || origin === ownOrigin() : site === 'same-origin';
  if (isOurs) return;
  throw new AppError('forbidden', 'A browser may call this operation from a page of this server only.');
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
