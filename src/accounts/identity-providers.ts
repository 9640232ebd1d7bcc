import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchProtectedResource,
  ResponseBodyError,
} from 'openid-client';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { type Egress, egressDeniedError, findEgressDenial } from '../egress/egress.ts';

/** Identity of a signed-in user as reported by the provider. */
export interface ProviderIdentity {
  readonly issuer: string;
  /** Permanent id of the user within the issuer. */
  readonly subject: string;
  readonly email: string;
  /** Whether the provider has verified the address. */
  readonly emailVerified: boolean;
}

/** Values that bind the callback to the browser that started the sign-in. */
export interface AuthorizationChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Redirects users to an identity provider and evaluates its callback. */
export interface IdentityProvider {
  /** Errors: 502 if the provider does not answer. */
  getAuthorizationUrl(redirectUri: string, checks: AuthorizationChecks): Promise<string>;
  /**
   * `callbackUrl`: full URL of the callback request. Errors: 400 for a callback that was not issued for these
   * checks, or that the user or the provider rejected; 502 if the provider does not answer.
   */
  identify(callbackUrl: URL, checks: AuthorizationChecks): Promise<ProviderIdentity>;
}

export const providerNames = ['google', 'github'] as const;
export type ProviderName = (typeof providerNames)[number];

export interface ProviderSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** URL of the OpenID Connect issuer or of a GitHub (Enterprise) server, without a trailing slash. */
  readonly baseUrl: string;
  readonly fetch: Egress['fetch'];
}

const timeoutSeconds = limits.identityProviderMsMax / 1_000;

/**
 * Creates a provider for any OpenID Connect issuer, such as Google. Its metadata is fetched at the first
 * sign-in and cached.
 */
export function createOpenIdProvider(settings: ProviderSettings): IdentityProvider {
  let cached: Promise<Configuration> | null = null;
  const configuration = (): Promise<Configuration> => {
    cached ??= discoverConfiguration(settings).catch((error: unknown) => {
      cached = null;
      throw error;
    });
    return cached;
  };
  return {
    getAuthorizationUrl: (redirectUri, checks) =>
      mapProviderErrors(async () =>
        authorizationUrl(await configuration(), redirectUri, checks, {
          scope: 'openid email',
          nonce: checks.nonce,
        }),
      ),
    identify: (callbackUrl, checks) =>
      mapProviderErrors(async () => {
        const issuer = await configuration();
        const tokens = await authorizationCodeGrant(issuer, callbackUrl, {
          expectedState: checks.state,
          expectedNonce: checks.nonce,
          pkceCodeVerifier: checks.verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined || typeof claims.email !== 'string') throw missingEmailError();
        return {
          issuer: claims.iss,
          subject: claims.sub,
          email: claims.email,
          emailVerified: claims.email_verified === true,
        };
      }),
  };
}

/**
 * Creates a provider for GitHub, which supports OAuth but not OpenID Connect: the user and the addresses are
 * read from its API.
 */
export function createGitHubProvider(settings: ProviderSettings): IdentityProvider {
  const { baseUrl } = settings;
  const api = baseUrl === 'https://github.com' ? 'https://api.github.com' : `${baseUrl}/api/v3`;
  const configuration = createConfiguration(
    {
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/login/oauth/authorize`,
      token_endpoint: `${baseUrl}/login/oauth/access_token`,
    },
    settings,
  );
  const fetchJson = async <Reply>(path: string, accessToken: string): Promise<Reply> => {
    const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'Quarry' });
    const url = new URL(`${api}${path}`);
    const response = await fetchProtectedResource(configuration, accessToken, url, 'GET', null, headers);
    if (!response.ok) throw new Error(`${path} replied with status ${response.status}`);
    return (await response.json()) as Reply;
  };
  return {
    getAuthorizationUrl: (redirectUri, checks) =>
      mapProviderErrors(() =>
        authorizationUrl(configuration, redirectUri, checks, { scope: 'read:user user:email' }),
      ),
    identify: (callbackUrl, checks) =>
      mapProviderErrors(async () => {
        const tokens = await authorizationCodeGrant(configuration, callbackUrl, {
          expectedState: checks.state,
          pkceCodeVerifier: checks.verifier,
          idTokenExpected: false,
        });
        const { id } = await fetchJson<{ id?: unknown }>('/user', tokens.access_token);
        // Replies without an id must not all map to the same user.
        if (!Number.isSafeInteger(id)) throw new Error('the reply of /user has no id');
        const addresses = await fetchJson<GitHubAddress[]>('/user/emails', tokens.access_token);
        const primary = addresses.find((address) => address.primary === true);
        if (typeof primary?.email !== 'string') throw missingEmailError();
        return {
          issuer: baseUrl,
          subject: String(id),
          email: primary.email,
          emailVerified: primary.verified === true,
        };
      }),
  };
}

/** Expected fields; the types of the actual values are checked. */
interface GitHubAddress {
  readonly email?: unknown;
  readonly primary?: unknown;
  readonly verified?: unknown;
}

async function discoverConfiguration({
  baseUrl,
  clientId,
  clientSecret,
  fetch,
}: ProviderSettings): Promise<Configuration> {
  // Verifies token signatures even over TLS, so that a token signed by another party is never accepted.
  const execute = [enableNonRepudiationChecks, ...(isLoopback(baseUrl) ? [allowInsecureRequests] : [])];
  return await discovery(new URL(baseUrl), clientId, undefined, ClientSecretPost(clientSecret), {
    timeout: timeoutSeconds,
    execute,
    [customFetch]: toCustomFetch(fetch),
  });
}

function createConfiguration(
  server: ConstructorParameters<typeof Configuration>[0],
  { baseUrl, clientId, clientSecret, fetch }: ProviderSettings,
): Configuration {
  const configuration = new Configuration(server, clientId, undefined, ClientSecretPost(clientSecret));
  configuration.timeout = timeoutSeconds;
  configuration[customFetch] = toCustomFetch(fetch);
  if (isLoopback(baseUrl)) allowInsecureRequests(configuration);
  return configuration;
}

/** Adapts `fetch` to the type of the library; the options are the same. */
function toCustomFetch(fetch: Egress['fetch']): CustomFetch {
  return (url, options) => fetch(url, options as RequestInit);
}

/** Plain http is allowed only for providers on this machine, in tests. */
function isLoopback(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return (
    protocol === 'http:' && (hostname === '127.0.0.1' || hostname === 'localhost' || hostname === '[::1]')
  );
}

async function authorizationUrl(
  configuration: Configuration,
  redirectUri: string,
  { state, verifier }: AuthorizationChecks,
  extraParameters: Readonly<Record<string, string>>,
): Promise<string> {
  return buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...extraParameters,
  }).href;
}

/** Maps errors of a provider: 400 if the callback is invalid, 502 if the provider fails. */
async function mapProviderErrors<Result>(operation: () => Promise<Result>): Promise<Result> {
  try {
    return await operation();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const egressDenial = findEgressDenial(cause);
    if (egressDenial !== null) throw egressDeniedError('the identity provider', egressDenial);
    if (isRejection(cause)) {
      throw new AppError('bad_request', 'The identity provider rejected the sign-in. Start again.', {
        cause,
        privateDetails: { reason: cause.message },
      });
    }
    throw new AppError(
      'bad_gateway',
      'The identity provider returned an unexpected reply. Try again shortly.',
      {
        cause,
      },
    );
  }
}

/** Error codes of replies that do not match the checks of this sign-in. */
const mismatchCodes: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);

function isRejection(error: unknown): error is Error {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) return true;
  return error instanceof ClientError && mismatchCodes.has(String(error.code));
}

function missingEmailError(): AppError {
  return new AppError(
    'forbidden',
    'The identity provider did not return an email address. Sign in by email instead.',
  );
}
