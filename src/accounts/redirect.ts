import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';

/** Resolved against this, a path that stays here keeps the origin. */
const here = 'http://here.invalid';

/**
 * Where a browser may be sent after it signed in: a path of this server with query and fragment, as the browser itself
 * will read it. Errors: 400 for everything that could lead elsewhere.
 */
export function localPath(given: string): string {
  const isPath = /^\/(?![/\\])/.test(given) && !/[\\\p{Cc}\p{Cf}\p{Z}\p{Surrogate}]/u.test(given);
  if (isPath && given.length <= limits.signInPathUnitsMax && URL.canParse(given, here)) {
    const url = new URL(given, here);
    const path = url.pathname + url.search + url.hash;
    // Percent-encoding makes a path longer.
    if (url.origin === here && !path.startsWith('//') && path.length <= limits.signInPathUnitsMax)
      return path;
  }
  throw new AppError(
    'bad_request',
    `redirect_url must be a path of this server, such as /app/, of at most ${limits.signInPathUnitsMax} characters.`,
  );
}
