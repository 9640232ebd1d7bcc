import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import { fetchText } from './fetch-text.ts';

export interface VercelSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** `https://api.vercel.com`. */
  readonly apiUrl: string;
  /** Hosts that `next` may lead to. */
  readonly nextHosts: ReadonlySet<string>;
  /** Where Vercel sends browsers to, as it is registered there. */
  readonly redirectUri: () => string;
}

export interface VercelInstallation {
  readonly installationId: string;
  readonly teamId: string | null;
  readonly userId: string | null;
  readonly accessToken: string;
}

const bounds = { msMax: limits.marketplaceCallMsMax, bytesMax: limits.marketplaceReplyBytesMax };

/** Vercel, as an integration sees it. */
export class VercelApi {
  readonly #settings: VercelSettings;

  constructor(settings: VercelSettings) {
    this.#settings = settings;
  }

  /** Where the browser goes at last. Errors: 400 for every address that is not Vercel's. */
  nextOf(given: string): string {
    const url = URL.canParse(given) && given.length <= limits.redirectUnitsMax ? new URL(given) : null;
    const isTheirs =
      url !== null &&
      url.protocol === 'https:' &&
      url.username === '' &&
      url.password === '' &&
      url.port === '' &&
      this.#settings.nextHosts.has(url.hostname) &&
      // What a parser mends in silence was not written by Vercel.
      /^https:\/\/[^\\\s\p{Cc}]+$/u.test(given);
    if (isTheirs) return url.href;
    throw new AppError('bad_request', 'next must be an https:// address of Vercel.');
  }

  /** Errors: 400 for a code that is unknown, used or too old; 502 when Vercel does not answer as it should. */
  async exchange(code: string): Promise<VercelInstallation> {
    const { clientId, clientSecret, apiUrl, redirectUri } = this.#settings;
    const form = new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      code,
      redirect_uri: redirectUri(),
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    const sent = { method: 'POST', headers, body: form.toString() };
    const reply = await fetchText(`${apiUrl}/v2/oauth/access_token`, sent, bounds).catch((cause: unknown) => {
      throw troubled(cause);
    });
    if (reply.status === 400 || reply.status === 403) {
      throw new AppError(
        'bad_request',
        'This code of Vercel is unknown, was used or has expired: start again.',
      );
    }
    if (reply.status !== 200) throw troubled(new Error(`it answered ${reply.status}`));
    return installationOf(reply.text);
  }

  /** Whether Vercel signed a webhook: HMAC-SHA1 of its body with the secret of the integration, in hex. */
  isSigned(body: Uint8Array, signature: string): boolean {
    const expected = createHmac('sha1', this.#settings.clientSecret).update(body).digest();
    const given = /^[0-9a-f]{40}$/i.test(signature) ? Buffer.from(signature, 'hex') : Buffer.alloc(0);
    return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
  }
}

function installationOf(text: string): VercelInstallation {
  let said: Record<string, unknown>;
  try {
    said = Object(JSON.parse(text)) as Record<string, unknown>;
  } catch (cause) {
    throw troubled(cause);
  }
  const { access_token: accessToken, installation_id: installationId, team_id, user_id } = said;
  const isWhole = isWord(accessToken) && isWord(installationId);
  if (!isWhole) throw troubled(new Error('it names no installation'));
  return {
    accessToken,
    installationId,
    teamId: isWord(team_id) ? team_id : null,
    userId: isWord(user_id) ? user_id : null,
  };
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,512}$/.test(value);
}

function troubled(cause: unknown): AppError {
  return new AppError('bad_gateway', 'Vercel does not answer as it should; start again shortly.', { cause });
}
