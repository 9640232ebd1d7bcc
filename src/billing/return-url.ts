import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

/**
 * Returns the URL that Stripe redirects the browser to: a path or URL of this server, parsed as browsers
 * parse it. `base`: `https://host` of this server. Errors: 400 for any input that could lead elsewhere.
 */
export function parseReturnUrl(input: string | null | undefined, base: string, defaultUrl: string): string {
  if (input === null || input === undefined) return new URL(defaultUrl, base).href;
  const isPath = /^\/(?![/\\])/.test(input);
  const isAddress = /^https?:\/\/[^/]/i.test(input);
  const isSafe =
    !/[\\\p{Cc}\p{Cf}\p{Z}\p{Surrogate}]/u.test(input) && input.length <= limits.redirectUnitsMax;
  if ((isPath || isAddress) && isSafe && URL.canParse(input, base)) {
    const url = new URL(input, base);
    const serverUrl = new URL(base);
    if (
      url.origin === serverUrl.origin &&
      url.username === '' &&
      url.password === '' &&
      !url.pathname.startsWith('//')
    )
      return url.href;
  }
  throw new AppError(
    'bad_request',
    'return_url must be a path or a URL of this server, such as /app/billing.',
  );
}
