import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';

/**
 * Where Stripe sends a browser back to: a path, or an address of this server, as the browser itself will read it.
 * `base`: `https://host` of this server. Errors: 400 for everything that could lead elsewhere.
 */
export function returnAddress(given: string | null | undefined, base: string, home: string): string {
  if (given === null || given === undefined) return new URL(home, base).href;
  const isPath = /^\/(?![/\\])/.test(given);
  const isAddress = /^https?:\/\/[^/]/i.test(given);
  const isPlain =
    !/[\\\p{Cc}\p{Cf}\p{Z}\p{Surrogate}]/u.test(given) && given.length <= limits.redirectUnitsMax;
  if ((isPath || isAddress) && isPlain && URL.canParse(given, base)) {
    const url = new URL(given, base);
    const own = new URL(base);
    if (
      url.origin === own.origin &&
      url.username === '' &&
      url.password === '' &&
      !url.pathname.startsWith('//')
    )
      return url.href;
  }
  throw new AppError(
    'bad_request',
    'return_url must be a path or an address of this server, such as /app/billing.',
  );
}
