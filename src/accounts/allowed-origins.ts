import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

/** Longer than any host name. */
const originBytesMax = 512;

/** `scheme://host:port` of apps whose pages have a scheme of their own, such as extensions of browsers. */
const appOriginPattern = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+(?::\d{1,5})?$/;

/**
 * Returns the origins as browsers send them, each once. Errors: 400 for too many, or for one that is not an origin.
 */
export function normalizeOrigins(origins: readonly string[]): string[] {
  if (origins.length > limits.keyOriginsMax) {
    throw new AppError(
      'bad_request',
      `A key can allow at most ${limits.keyOriginsMax} origins, but ${origins.length} were sent.`,
    );
  }
  return [...new Set(origins.map(normalizeOrigin))];
}

function normalizeOrigin(text: string): string {
  const origin = /^https?:/i.test(text) ? normalizeWebOrigin(text) : text.toLowerCase();
  if (origin !== null && origin.length <= originBytesMax && appOriginPattern.test(origin)) return origin;
  throw new AppError(
    'bad_request',
    `${JSON.stringify(text.slice(0, 200))} is not an origin. Send a scheme and a host, with a port if it is not the default, such as https://www.example.com.`,
  );
}

/** Returns null if the text contains more than an origin. */
function normalizeWebOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { origin, href } = new URL(text);
  return href === `${origin}/` ? origin : null;
}
