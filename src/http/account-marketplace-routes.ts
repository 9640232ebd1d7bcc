import type { AccountResponse, ClientInfo } from '../accounts/client-info.ts';
import { ownerRoles, toActor } from '../accounts/membership-authorizer.ts';
import { limits } from '../core/limits.ts';
import type { SignUpTokens } from '../marketplaces/marketplaces.ts';
import { GenericMessageResponse } from '../schemas/accounts.ts';
import * as wire from '../schemas/marketplaces.ts';
import { type AccountRoute, accountRoute, mutationRoute, requireRole, userRoute } from './account-route.ts';

const signUpExample = { sign_up: 'Jm9ZbS1XQ1R0c2ZkZ2hqa2xxd2VydHl1aW9wYXNkZmc' } as const;
const successMessage = Object.freeze({ message: 'Success!' });
const signUpNotFound = 'Nothing waits for this browser, or you belong to no such organisation.';

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
  429: 'Too many in a short time.',
  502: 'The marketplace does not answer as it should.',
  503: 'The marketplace is not set up.',
} as const;

export const marketplaceRoutes: readonly AccountRoute[] = [
  accountRoute(
    {
      operation: 'begin-aws-marketplace',
      path: '/api/marketplaces/aws',
      summary: 'Come from AWS Marketplace',
      description:
        'Where AWS Marketplace sends the browser of somebody who bought the product. Leads on to sign in (303), or answers the address with `Accept: application/json`; the organisation that it is for is named later, in the same browser.',
      request: wire.AwsMarketplaceRequest,
      reply: wire.MarketplaceSignUpResponse,
      example: { 'x-amzn-marketplace-token': '' },
      errorResponses: { 400: 'The token is missing, unknown or has expired.', ...signUpErrors },
    },
    { method: 'POST', inputSource: 'form' },
    async ({ marketplaces, home }, { client }, request) => {
      const tokens = await marketplaces.beginAwsSignUp(
        request['x-amzn-marketplace-token'] ?? '',
        client.address,
      );
      return redirectToSignUp(client, tokens, { home, status: 303 });
    },
  ),
  accountRoute(
    {
      operation: 'begin-vercel-marketplace',
      path: '/api/marketplaces/vercel',
      summary: 'Come from Vercel',
      description:
        'Where Vercel sends the browser of somebody who installs the integration. Leads on to sign in (302), or answers the address with `Accept: application/json`; `next` is where it goes at last.',
      request: wire.VercelMarketplaceRequest,
      reply: wire.MarketplaceSignUpResponse,
      example: { code: '', next: 'https://vercel.com/' },
      errorResponses: {
        400: 'The code is unknown, used or too old, or `next` is not of Vercel.',
        ...signUpErrors,
      },
    },
    { method: 'GET', inputSource: 'query' },
    async ({ marketplaces, home }, { client }, request) =>
      redirectToSignUp(client, await marketplaces.beginVercelSignUp(request, client.address), {
        home,
        status: 302,
      }),
  ),
  accountRoute(
    {
      operation: 'aws-marketplace-event',
      path: '/api/marketplaces/aws/events',
      summary: 'Take a message of AWS Marketplace',
      description:
        'For Amazon SNS, which signs its messages. They are hints: what an agreement entitles to is asked of AWS.',
      request: wire.MarketplaceEventRequest,
      reply: GenericMessageResponse,
      example: { body: new Uint8Array() },
      errorResponses: { 400: 'It is not from a topic of this server.', ...signUpErrors },
    },
    { method: 'POST', inputSource: 'bytes' },
    async ({ marketplaces }, { client }, { body }) => {
      await marketplaces.handleAwsMessage(Buffer.from(body).toString('utf8'), client.address);
      return { kind: 'json', body: successMessage };
    },
  ),
  accountRoute(
    {
      operation: 'vercel-marketplace-event',
      path: '/api/marketplaces/vercel/events',
      summary: 'Take a webhook of Vercel',
      description: 'For Vercel, which signs its webhooks: an integration that is removed ends here, too.',
      request: wire.MarketplaceEventRequest,
      reply: GenericMessageResponse,
      example: { body: new Uint8Array() },
      errorResponses: {
        400: 'Vercel did not sign it.',
        429: signUpErrors[429],
        503: 'Vercel is not set up.',
      },
    },
    { method: 'POST', inputSource: 'bytes', signatureHeader: 'x-vercel-signature' },
    async ({ marketplaces }, { client }, { body, signature }) => {
      await marketplaces.handleVercelWebhook(body, signature ?? '', client.address);
      return { kind: 'json', body: successMessage };
    },
  ),
  userRoute({
    operation: 'get-marketplace-sign-up',
    path: '/api/marketplaces/get-sign-up',
    summary: 'What do I come with?',
    description: 'What waits to be taken for an organisation, in the browser that came from a marketplace.',
    request: wire.GetMarketplaceSignUpRequest,
    reply: wire.GetMarketplaceSignUpResponse,
    example: signUpExample,
    errorResponses: { 404: 'Nothing waits for this browser.' },
    serve: async ({ marketplaces }, { client }, { sign_up }) => {
      const signUp = marketplaces.getSignUp(sign_up, client.cookie('marketplace'));
      const { marketplace, account, accountId, installationId, expiresAt } = signUp;
      const ids = { account_id: accountId, installation_id: installationId };
      return { marketplace, account, ...ids, expires_at: new Date(expiresAt).toISOString() };
    },
  }),
  mutationRoute({
    operation: 'bind-marketplace',
    path: '/api/marketplaces/bind',
    summary: 'Take a purchase for an organisation',
    description:
      'For owners, in the browser that came from the marketplace. A purchase belongs to one organisation; taking it again changes nothing. Projects at Vercel get an API key of the organisation and the address of this server, unless `set_variables` is false.',
    request: wire.BindMarketplaceRequest,
    reply: wire.BindMarketplaceResponse,
    example: { ...signUpExample, organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' },
    errorResponses: {
      404: signUpNotFound,
      409: 'It belongs to another organisation.',
      502: signUpErrors[502],
    },
    authorize: requireRole(ownerRoles),
    serve: async ({ marketplaces, authorizer }, call, request) => {
      const organization_id = authorizer.authorize(call, request, ownerRoles).organization.organizationId;
      const { sign_up: token, set_variables } = request;
      const browserToken = call.client.cookie('marketplace');
      const input = { token, browserToken, setsVariables: set_variables ?? true };
      const result = await marketplaces.bind(input, organization_id, toActor(call));
      const { marketplace, entitledTier: bought, tier, variables, next } = result;
      return { organization_id, marketplace, bought_tier: bought, subscription_tier: tier, variables, next };
    },
  }),
];
