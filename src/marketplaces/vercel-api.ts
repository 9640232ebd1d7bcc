import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { type Egress, egressDeniedError, findEgressDenial } from '../egress/egress.ts';
import { fetchText, type TextResponse } from './fetch-text.ts';

export interface VercelSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** `https://api.vercel.com`. */
  readonly apiUrl: string;
  /** Hosts allowed for `next`. */
  readonly nextHosts: ReadonlySet<string>;
  /** Redirect URI as registered in Vercel. */
  readonly redirectUri: () => string;
  readonly fetch: Egress['fetch'];
}

export interface VercelInstallation {
  readonly installationId: string;
  readonly teamId: string | null;
  readonly userId: string | null;
  readonly accessToken: string;
}

/** API access for one installation. */
export interface VercelAccess {
  readonly token: string;
  readonly teamId: string | null;
}

/** Vercel denied the request; a retry would be denied too. */
export class VercelRejectedError extends AppError {
  /** Whether Vercel rejected the token, because it expired or lacks the permission. */
  readonly isTokenError: boolean;

  constructor(path: string, status: number) {
    super('bad_gateway', 'Vercel denied the request from this integration.', {
      shouldRetry: false,
      privateDetails: { vercel: { what: path, status } },
    });
    this.isTokenError = status === 401 || status === 403;
  }
}

const tokenPath = '/v2/oauth/access_token';
const fetchLimits = { msMax: limits.marketplaceCallMsMax, bytesMax: limits.marketplaceReplyBytesMax };
/** Larger limit, because projects include their latest deployments. */
const pageFetchLimits = { msMax: limits.marketplaceCallMsMax, bytesMax: limits.vercelPageBytesMax };

/** Vercel API for integrations. */
export class VercelApi {
  readonly #settings: VercelSettings;

  constructor(settings: VercelSettings) {
    this.#settings = settings;
  }

  /** Returns the final redirect target of the browser. Errors: 400 for any URL outside Vercel. */
  parseNextUrl(input: string): string {
    const url = URL.canParse(input) && input.length <= limits.redirectUnitsMax ? new URL(input) : null;
    const isVercelUrl =
      url !== null &&
      url.protocol === 'https:' &&
      url.username === '' &&
      url.password === '' &&
      url.port === '' &&
      this.#settings.nextHosts.has(url.hostname) &&
      // URL parsers silently repair input that Vercel would not send.
      /^https:\/\/[^\\\s\p{Cc}]+$/u.test(input);
    if (isVercelUrl) return url.href;
    throw new AppError('bad_request', 'next must be an https:// Vercel URL.');
  }

  /** Errors: 400 for a code that is unknown, used or expired; 502 if Vercel replies unexpectedly. */
  async exchangeCode(code: string): Promise<VercelInstallation> {
    const reply = await this.#requestToken({ code, redirect_uri: this.#settings.redirectUri() });
    if (reply.status === 400 || reply.status === 403) {
      throw new AppError('bad_request', 'This Vercel code is unknown, already used or expired. Start again.');
    }
    if (reply.status !== 200) throw unexpectedReplyError(new Error(`status ${reply.status}`));
    return parseInstallation(reply.text);
  }

  /**
   * Returns a new token for an active installation whose token has expired. The grant is documented in
   * Vercel's guide to short-lived tokens; the installation field is named as in the replies of that endpoint.
   * Errors: `VercelRejectedError` if Vercel denies it; 502 if Vercel replies unexpectedly.
   */
  async renewToken(installationId: string): Promise<string> {
    const { status, text } = await this.#requestToken({
      grant_type: 'client_credentials',
      installation_id: installationId,
    });
    if (status >= 400 && status < 500 && status !== 429 && status !== 408)
      throw new VercelRejectedError(tokenPath, status);
    if (status !== 200) throw unexpectedReplyError(new Error(`status ${status}`));
    const { access_token: token } = parseObject(text);
    if (!isIdentifier(token)) throw unexpectedReplyError(new Error('the reply has no token'));
    return token;
  }

  async #requestToken(fields: Readonly<Record<string, string>>): Promise<TextResponse> {
    const { clientId, clientSecret, apiUrl, fetch } = this.#settings;
    const form = new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...fields });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    const init = { method: 'POST', headers, body: form.toString() };
    return fetchText(`${apiUrl}${tokenPath}`, init, { ...fetchLimits, fetch }).catch((cause: unknown) => {
      throw unexpectedReplyError(cause);
    });
  }

  /** Returns the name of the team or user of an installation; null if Vercel does not report it. */
  async findAccountName({ accessToken: token, teamId }: VercelInstallation): Promise<string | null> {
    const path = teamId === null ? '/v2/user' : `/v2/teams/${encodeURIComponent(teamId)}`;
    try {
      const reply = await this.#request({ token, teamId: null }, path);
      const { slug, name } = reply;
      const { username } = Object(reply.user) as Record<string, unknown>;
      return [slug, name, username].find((each) => isDisplayName(each)) ?? null;
    } catch (error) {
      // The name is only displayed, so the sign-up continues without it.
      if (error instanceof AppError) return null;
      throw error;
    }
  }

  /** Returns the ids of the projects that the installation has access to. */
  async listProjects(access: VercelAccess): Promise<string[]> {
    const found: string[] = [];
    let from = '';
    while (found.length < limits.vercelProjectsMax) {
      const page = await this.#request(access, `/v10/projects?limit=${limits.vercelPageMax}${from}`);
      const { projects, pagination } = page;
      if (!Array.isArray(projects)) throw unexpectedReplyError(new Error('the reply has no projects'));
      for (const { id } of projects.map(Object)) if (isIdentifier(id)) found.push(id);
      const { next } = Object(pagination) as Record<string, unknown>;
      if ((typeof next !== 'string' && typeof next !== 'number') || projects.length === 0) break;
      from = `&from=${encodeURIComponent(next)}`;
    }
    return found.slice(0, limits.vercelProjectsMax);
  }

  /**
   * Sets variables for every environment of a project, replacing existing ones. They apply to its next
   * deployments.
   */
  async setVariables(
    access: VercelAccess,
    projectId: string,
    variables: Readonly<Record<string, string>>,
  ): Promise<void> {
    const target = ['production', 'preview', 'development'];
    const body = Object.entries(variables).map(([key, value]) => ({ key, value, type: 'encrypted', target }));
    const path = `/v10/projects/${encodeURIComponent(projectId)}/env?upsert=true`;
    const { failed } = await this.#request(access, path, body);
    if (Array.isArray(failed) && failed.length > 0) throw new VercelRejectedError(path, 201);
  }

  /** Errors: `VercelRejectedError` if Vercel denies the request; 502 if Vercel replies unexpectedly. */
  async #request(
    { token, teamId }: VercelAccess,
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> {
    const url = new URL(`${this.#settings.apiUrl}${path}`);
    if (teamId !== null) url.searchParams.set('teamId', teamId);
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const init =
      body === undefined
        ? { headers }
        : {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          };
    const reply = await fetchText(url.href, init, { ...pageFetchLimits, fetch: this.#settings.fetch }).catch(
      (cause: unknown) => {
        throw unexpectedReplyError(cause);
      },
    );
    const { status, text } = reply;
    if (status >= 400 && status < 500 && status !== 429 && status !== 408)
      throw new VercelRejectedError(path, status);
    if (status !== 200 && status !== 201) throw unexpectedReplyError(new Error(`status ${status}`));
    return parseObject(text);
  }

  /**
   * Whether Vercel signed a webhook: HMAC-SHA1 of the body with the client secret of the integration, in
   * hexadecimal.
   */
  isSignatureValid(body: Uint8Array, signature: string): boolean {
    const expected = createHmac('sha1', this.#settings.clientSecret).update(body).digest();
    const actual = /^[0-9a-f]{40}$/i.test(signature) ? Buffer.from(signature, 'hex') : Buffer.alloc(0);
    return actual.byteLength === expected.byteLength && timingSafeEqual(actual, expected);
  }
}

function parseInstallation(text: string): VercelInstallation {
  const { access_token: accessToken, installation_id: installationId, team_id, user_id } = parseObject(text);
  const isComplete = isIdentifier(accessToken) && isIdentifier(installationId);
  if (!isComplete) throw unexpectedReplyError(new Error('the reply has no installation'));
  return {
    accessToken,
    installationId,
    teamId: isIdentifier(team_id) ? team_id : null,
    userId: isIdentifier(user_id) ? user_id : null,
  };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch (cause) {
    throw unexpectedReplyError(cause);
  }
}

function isDisplayName(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{Cc}\p{Cf}]{1,255}$/u.test(value);
}

function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,512}$/.test(value);
}

function unexpectedReplyError(cause: unknown): AppError {
  const refused = findEgressDenial(cause);
  if (refused !== null) return egressDeniedError('Vercel', refused);
  return new AppError('bad_gateway', 'Vercel returned an unexpected reply. Start again shortly.', {
    cause,
  });
}
