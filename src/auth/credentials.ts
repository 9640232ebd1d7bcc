import type { CookieName, ResponseCookie } from '../accounts/client-info.ts';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

/** What a request shows of who sent it. */
export interface Credentials {
  /** Upper case. */
  readonly method: string;
  header(name: string): string | undefined;
  /** `https://host:port` under which the request came. */
  readonly ownOrigin: () => string;
}

/** `Bearer`, blanks, and a token of printable characters; nothing longer than the longest key is looked at. */
const bearerPattern = /^Bearer +([\x21-\x7e]{1,256}) *$/i;
/** A browser sends a cookie with this prefix only back to the host that set it, over https, whatever its path. */
const hostCookiePrefix = '__Host-';

/** The token of an `Authorization` header; undefined when it is none. */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : bearerPattern.exec(authorization)?.[1];
}

/**
 * The value of one of our cookies; undefined when there is none, and when the header is longer than it needs to be. Over
 * https only one with the prefix is ours: any other could have been set by a neighbouring host.
 */
export function readCookie(
  { header, ownOrigin }: Pick<Credentials, 'header' | 'ownOrigin'>,
  name: CookieName,
): string | undefined {
  const cookies = header('cookie');
  if (cookies === undefined || cookies.length > limits.cookieBytesMax) return undefined;
  const cookieName = ownOrigin().startsWith('https:') ? hostCookiePrefix + name : name;
  const pairs = cookies.split(';').map((pair) => pair.trim().split('=', 2));
  return pairs.find(([pairName]) => pairName === cookieName)?.[1];
}

/** `Set-Cookie`: no script can read it, no other site can send it along. Null as value takes it away. */
export function formatSetCookie(cookie: ResponseCookie, isSecure: boolean): string {
  const name = isSecure ? hostCookiePrefix + cookie.name : cookie.name;
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${cookie.value ?? ''}; Path=/; Max-Age=${cookie.maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** Refuses what a page of another site makes a browser send, with or without a cookie; programs may. 403. */
export function rejectCrossSite(credentials: Credentials): void {
  const { header } = credentials;
  const isProgram = header('sec-fetch-site') === undefined && header('origin') === undefined;
  if (isProgram || isSameOrigin(credentials)) return;
  throw new AppError('forbidden', 'A browser may call this operation from a page of this server only.');
}

/**
 * Refuses a request that another site made a browser send: a browser sends cookies along whoever made it ask. 403 unless
 * it says that no other site asks, and it is something that no plain form can send.
 */
export function rejectCsrf(credentials: Credentials): void {
  const { method, header } = credentials;
  const isJson = /^application\/json\s*(;|$)/i.test(header('content-type') ?? '');
  if (isSameOrigin(credentials) && (method === 'PUT' || isJson)) return;
  throw new AppError(
    'forbidden',
    'A request that is signed in by a cookie must come from a page of this server, as JSON; programs send a bearer token instead.',
  );
}

/**
 * Whether a browser says that a page of this server asks, or nobody but its user: that is what `none` means, and no page
 * can bring about. Browsers that do not say so name the page's origin; one that is named must be ours beside `none` too.
 */
function isSameOrigin({ header, ownOrigin }: Credentials): boolean {
  const [site, origin] = [header('sec-fetch-site'), header('origin')];
  if (site === 'same-origin') return true;
  if (site === 'none') return origin === undefined || origin === ownOrigin();
  return site === undefined && origin === ownOrigin();
}
