import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

/** Resolved against this, a path that stays here keeps the origin. */
const placeholderOrigin = 'http://here.invalid';

/**
 * Where a browser may be sent after it signed in: a path of this server with query and fragment, as the browser itself
 * will read it. Errors: 400 for everything that could lead elsewhere.
 */
export function parseLocalPath(input: string): string {
  const isPath = /^\/(?![/\\])/.test(input) && !/[\\\p{Cc}\p{Cf}\p{Z}\p{Surrogate}]/u.test(input);
  if (isPath && input.length <= limits.signInPathUnitsMax && URL.canParse(input, placeholderOrigin)) {
    const url = new URL(input, placeholderOrigin);
    const path = url.pathname + url.search + url.hash;
    // Percent-encoding makes a path longer.
    if (
      url.origin === placeholderOrigin &&
      !path.startsWith('//') &&
      path.length <= limits.signInPathUnitsMax
    )
      return path;
  }
  throw new AppError(
    'bad_request',
    `redirect_url must be a path of this server, such as /app/, of at most ${limits.signInPathUnitsMax} characters.`,
  );
}
