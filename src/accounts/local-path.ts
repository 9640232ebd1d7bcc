import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

/** A path that stays on this server keeps this origin when it is resolved against it. */
const placeholderOrigin = 'http://here.invalid';

/**
 * Returns the redirect target after a sign-in: a path of this server with query and fragment, parsed as
 * browsers parse it. Errors: 400 for any input that could lead elsewhere.
 */
export function parseLocalPath(input: string): string {
  const isPath = /^\/(?![/\\])/.test(input) && !/[\\\p{Cc}\p{Cf}\p{Z}\p{Surrogate}]/u.test(input);
  if (isPath && input.length <= limits.signInPathUnitsMax && URL.canParse(input, placeholderOrigin)) {
    const url = new URL(input, placeholderOrigin);
    const path = url.pathname + url.search + url.hash;
    // Percent-encoding can make a path longer, so the length is checked again.
    if (
      url.origin === placeholderOrigin &&
      !path.startsWith('//') &&
      path.length <= limits.signInPathUnitsMax
    )
      return path;
  }
  throw new AppError(
    'bad_request',
    `redirect_url must be a path on this server, such as /app/, of at most ${limits.signInPathUnitsMax} characters.`,
  );
}
