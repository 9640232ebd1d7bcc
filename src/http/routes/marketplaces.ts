import type { AccountResponse, ClientInfo } from '../../accounts/client-info.ts';
import { ownerRoles, toActor } from '../../accounts/membership-authorizer.ts';
import { limits } from '../../core/limits.ts';
import { toTimestamp } from '../../core/timestamps.ts';
import type { SignUpTokens } from '../../marketplaces/sign-ups.ts';
import { GenericMessageResponse } from '../../schemas/accounts.ts';
import * as wire from '../../schemas/marketplaces.ts';
import { type AccountRoute, accountRoute, mutationRoute, requireRole, userRoute } from './account-route.ts';

const signUpExample = { sign_up: 'Jm9ZbS1XQ1R0c2ZkZ2hqa2xxd2VydHl1aW9wYXNkZmc' } as const;
const successMessage = Object.freeze({ message: 'Success!' });
const signUpNotFound =
  'There is no pending sign-up for this browser, or you are not a member of the organization.';

/**
 * Redirects the browser to sign-in. The cookie later proves that it is the browser that arrived from the
 * marketplace.
 */
function redirectToSignUp(
  client: ClientInfo,
  { token, browserToken }: SignUpTokens,
  { home, status }: { readonly home: string; readonly status: 302 | 303 },
): AccountResponse<wire.MarketplaceSignUpResponse> {
  const to = `${home}marketplace?sign_up=${token}`;
  const maxAgeSeconds = limits.marketplaceSignUpMsMax / 1_000;
  const cookie = { name: 'marketplace', value: browserToken, maxAgeSeconds } as const;
  if (client.wantsJson) return { kind: 'json', body: { url: to, redirect_url: to }, cookie };
  return { kind: 'redirect', to, status, cookie };
}

const signUpErrors = {
  429: 'Too many requests in a short time.',
  502: 'The marketplace returned an unexpected reply or did not respond.',
  503: 'The marketplace is not configured.',
} as const;

export const marketplaceRoutes: readonly AccountRoute[] = [
  accountRoute(
    {
      operation: 'begin-aws-marketplace',
      access: 'none',
      path: '/api/marketplaces/aws',
      summary: 'Start an AWS Marketplace sign-up',
      description:
        'Target of the redirect from AWS Marketplace after a purchase. Redirects to sign-in (303), or returns the URL with `Accept: application/json`. The organization is chosen later in the same browser.',
      request: wire.AwsMarketplaceRequest,
      reply: wire.MarketplaceSignUpResponse,
      example: { 'x-amzn-marketplace-token': '' },
      errorResponses: { 400: 'The token is missing, unknown or has expired.', ...signUpErrors },
    },
    { method: 'POST', inputSource: 'form' },
    async ({ marketplaces, home }, { client }, request) => {
      const tokens = await marketplaces.signUps.beginAws(
        request['x-amzn-marketplace-token'] ?? '',
        client.address,
      );
      return redirectToSignUp(client, tokens, { home, status: 303 });
    },
  ),
  accountRoute(
    {
      operation: 'begin-vercel-marketplace',
      access: 'none',
      path: '/api/marketplaces/vercel',
      summary: 'Start a Vercel sign-up',
      description:
        'Target of the redirect from Vercel during the installation of the integration. Redirects to sign-in (302), or returns the URL with `Accept: application/json`. `next` is the final redirect target.',
      request: wire.VercelMarketplaceRequest,
      reply: wire.MarketplaceSignUpResponse,
      example: { code: '', next: 'https://vercel.com/' },
      errorResponses: {
        400: 'The code is unknown, already used or expired, or `next` is not a Vercel URL.',
        ...signUpErrors,
      },
    },
    { method: 'GET', inputSource: 'query' },
    async ({ marketplaces, home }, { client }, request) =>
      redirectToSignUp(client, await marketplaces.signUps.beginVercel(request, client.address), {
        home,
        status: 302,
      }),
  ),
  accountRoute(
    {
      operation: 'aws-marketplace-event',
      access: 'none',
      path: '/api/marketplaces/aws/events',
      summary: 'Receive an AWS Marketplace message',
      description:
        'For Amazon SNS only; the signature is verified. A message only triggers a query to AWS for the current entitlements.',
      request: wire.MarketplaceEventRequest,
      reply: GenericMessageResponse,
      example: { body: new Uint8Array() },
      errorResponses: { 400: 'The message is not from a configured topic.', ...signUpErrors },
    },
    { method: 'POST', inputSource: 'bytes' },
    async ({ marketplaces }, { client }, { body }) => {
      await marketplaces.messages.handleAws(Buffer.from(body).toString('utf8'), client.address);
      return { kind: 'json', body: successMessage };
    },
  ),
  accountRoute(
    {
      operation: 'vercel-marketplace-event',
      access: 'none',
      path: '/api/marketplaces/vercel/events',
      summary: 'Receive a Vercel webhook',
      description:
        'For Vercel only; the signature is verified. Removes an integration that was uninstalled in Vercel.',
      request: wire.MarketplaceEventRequest,
      reply: GenericMessageResponse,
      example: { body: new Uint8Array() },
      errorResponses: {
        400: 'The signature is invalid.',
        429: signUpErrors[429],
        503: 'The Vercel integration is not configured.',
      },
    },
    { method: 'POST', inputSource: 'bytes', signatureHeader: 'x-vercel-signature' },
    async ({ marketplaces }, { client }, { body, signature }) => {
      await marketplaces.messages.handleVercel(body, signature ?? '', client.address);
      return { kind: 'json', body: successMessage };
    },
  ),
  userRoute({
    operation: 'get-marketplace-sign-up',
    path: '/api/marketplaces/get-sign-up',
    summary: 'Get a pending marketplace sign-up',
    description: 'Returns the marketplace purchase that this browser can bind to an organization.',
    request: wire.GetMarketplaceSignUpRequest,
    reply: wire.GetMarketplaceSignUpResponse,
    example: signUpExample,
    errorResponses: { 404: 'There is no pending sign-up for this browser.' },
    serve: async ({ marketplaces }, { client }, { sign_up }) => {
      const signUp = marketplaces.signUps.get(sign_up, client.cookie('marketplace'));
      const { marketplace, account, accountId, installationId, expiresAt } = signUp;
      const ids = { account_id: accountId, installation_id: installationId };
      return { marketplace, account, ...ids, expires_at: toTimestamp(expiresAt) };
    },
  }),
  mutationRoute({
    operation: 'bind-marketplace',
    path: '/api/marketplaces/bind',
    summary: 'Bind a marketplace purchase to an organization',
    description:
      'For owners, in the browser that came from the marketplace. A purchase belongs to one organization; binding it again changes nothing. Unless `set_variables` is false, the Vercel projects get an API key of the organization and the URL of this server.',
    request: wire.BindMarketplaceRequest,
    reply: wire.BindMarketplaceResponse,
    example: { ...signUpExample, organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' },
    errorResponses: {
      404: signUpNotFound,
      409: 'The purchase belongs to another organization.',
      502: signUpErrors[502],
    },
    authorize: requireRole(ownerRoles),
    serve: async ({ marketplaces, authorizer }, call, request) => {
      const organization_id = authorizer.authorize(call, request, ownerRoles).organization.organizationId;
      const { sign_up: token, set_variables } = request;
      const browserToken = call.client.cookie('marketplace');
      const input = { token, browserToken, setsVariables: set_variables ?? true };
      const result = await marketplaces.binding.bind(input, organization_id, toActor(call));
      const { marketplace, entitledTier: bought, tier, variables, next } = result;
      return { organization_id, marketplace, bought_tier: bought, subscription_tier: tier, variables, next };
    },
  }),
];
