import type { CookieName, ResponseCookie } from '../accounts/client-info.ts';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

/** Parts of a request that identify its sender. */
export interface Credentials {
  /** Upper case. */
  readonly method: string;
  header(name: string): string | undefined;
  /** `https://host:port` of this server as seen by the request. */
  readonly ownOrigin: () => string;
}

/** `Bearer`, spaces, and a token of printable characters, at most as long as the longest key. */
const bearerPattern = /^Bearer +([\x21-\x7e]{1,256}) *$/i;
/** Browsers return a cookie with this prefix only to the host that set it, over https, for any path. */
const hostCookiePrefix = '__Host-';

/** Returns the token of an `Authorization` header; undefined if there is no valid one. */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : bearerPattern.exec(authorization)?.[1];
}

/**
 * Returns the value of a cookie of this server; undefined if it is missing or the header is too long. Over
 * https only a cookie with the prefix is accepted, because a neighboring host could have set any other.
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

/**
 * Formats a `Set-Cookie` header. Scripts cannot read the cookie, and cross-site requests do not send it,
 * except top-level navigation. A null value deletes the cookie.
 */
export function formatSetCookie(cookie: ResponseCookie, isSecure: boolean): string {
  const name = isSecure ? hostCookiePrefix + cookie.name : cookie.name;
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${cookie.value ?? ''}; Path=/; Max-Age=${cookie.maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

/**
 * Rejects cross-site requests from browsers, with or without a cookie; other programs are allowed. Errors:
 * 403.
 */
export function rejectCrossSite(credentials: Credentials): void {
  const { header } = credentials;
  const isProgram = header('sec-fetch-site') === undefined && header('origin') === undefined;
  if (isProgram || isSameOrigin(credentials)) return;
  throw new AppError('forbidden', 'Cross-site requests to this operation are not allowed.');
}

/**
 * Rejects cross-site request forgery, because browsers attach cookies to requests from any site. Errors: 403
 * unless the request is same-origin and has a form that a plain HTML form cannot send.
 */
export function rejectCsrf(credentials: Credentials): void {
  const { method, header } = credentials;
  const isJson = /^application\/json\s*(;|$)/i.test(header('content-type') ?? '');
  if (isSameOrigin(credentials) && (method === 'PUT' || isJson)) return;
  throw new AppError(
    'forbidden',
    'Requests authenticated by a cookie must be same-origin and have the content type application/json. Programs should send a bearer token.',
  );
}

/**
 * Whether the request comes from a page of this server or from direct navigation by the user, which is `none`
 * and cannot be caused by a page. Browsers without `sec-fetch-site` send `origin`. An `origin` must match
 * this server also with `none`.
 */
function isSameOrigin({ header, ownOrigin }: Credentials): boolean {
  const [site, origin] = [header('sec-fetch-site'), header('origin')];
  if (site === 'same-origin') return true;
  if (site === 'none') return origin === undefined || origin === ownOrigin();
  return site === undefined && origin === ownOrigin();
}
