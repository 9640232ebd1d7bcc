import { actorOf, owners } from '../accounts/membership-gate.ts';
import type { Outcome, Visitor } from '../accounts/visitor.ts';
import { limits } from '../base/limits.ts';
import type { Begun } from '../marketplaces/marketplaces.ts';
import { GenericMessageResponse } from '../schemas/accounts.ts';
import * as wire from '../schemas/marketplaces.ts';
import { type AccountRoute, accountRoute, asRole, changes, serves } from './account-route.ts';

const signUpExample = { sign_up: 'Jm9ZbS1XQ1R0c2ZkZ2hqa2xxd2VydHl1aW9wYXNkZmc' } as const;
const done = Object.freeze({ message: 'Success!' });
const notHere = 'Nothing waits for this browser, or you belong to no such organisation.';

/** Away to sign in; the browser holds what shows later that it is the one that came. */
function goOn(
  visitor: Visitor,
  { token, browser }: Begun,
  { home, status }: { readonly home: string; readonly status: 302 | 303 },
): Outcome<wire.MarketplaceSignUpResponse> {
  const to = `${home}marketplace?sign_up=${token}`;
  const seconds = limits.marketplaceSignUpMsMax / 1_000;
  const cookie = { name: 'marketplace', value: browser, seconds } as const;
  if (visitor.wantsJson) return { kind: 'json', body: { url: to, redirect_url: to }, cookie };
  return { kind: 'redirect', to, status, cookie };
}

const signUpRefusals = {
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
      refusals: { 400: 'The token is missing, unknown or has expired.', ...signUpRefusals },
    },
    { method: 'POST', from: 'form' },
    async ({ marketplaces, home }, { visitor }, request) => {
      const begun = await marketplaces.beginAws(request['x-amzn-marketplace-token'] ?? '', visitor.address);
      return goOn(visitor, begun, { home, status: 303 });
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
      refusals: {
        400: 'The code is unknown, used or too old, or `next` is not of Vercel.',
        ...signUpRefusals,
      },
    },
    { method: 'GET', from: 'query' },
    async ({ marketplaces, home }, { visitor }, request) =>
      goOn(visitor, await marketplaces.beginVercel(request, visitor.address), { home, status: 302 }),
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
      refusals: { 400: 'It is not from a topic of this server.', ...signUpRefusals },
    },
    { method: 'POST', from: 'bytes' },
    async ({ marketplaces }, { visitor }, { body }) => {
      await marketplaces.awsEvent(Buffer.from(body).toString('utf8'), visitor.address);
      return { kind: 'json', body: done };
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
      refusals: {
        400: 'Vercel did not sign it.',
        429: signUpRefusals[429],
        503: 'Vercel is not set up.',
      },
    },
    { method: 'POST', from: 'bytes', signedBy: 'x-vercel-signature' },
    async ({ marketplaces }, { visitor }, { body, signature }) => {
      await marketplaces.vercelEvent(body, signature ?? '', visitor.address);
      return { kind: 'json', body: done };
    },
  ),
  serves({
    operation: 'get-marketplace-sign-up',
    path: '/api/marketplaces/get-sign-up',
    summary: 'What do I come with?',
    description: 'What waits to be taken for an organisation, in the browser that came from a marketplace.',
    request: wire.GetMarketplaceSignUpRequest,
    reply: wire.GetMarketplaceSignUpResponse,
    example: signUpExample,
    refusals: { 404: 'Nothing waits for this browser.' },
    serve: async ({ marketplaces }, { visitor }, { sign_up }) => {
      const found = marketplaces.look(sign_up, visitor.cookie('marketplace'));
      const { marketplace, account, accountId, installationId, expiresAt } = found;
      const ids = { account_id: accountId, installation_id: installationId };
      return { marketplace, account, ...ids, expires_at: new Date(expiresAt).toISOString() };
    },
  }),
  changes({
    operation: 'bind-marketplace',
    path: '/api/marketplaces/bind',
    summary: 'Take a purchase for an organisation',
    description:
      'For owners, in the browser that came from the marketplace. A purchase belongs to one organisation; taking it again changes nothing. Projects at Vercel get an API key of the organisation and the address of this server, unless `set_variables` is false.',
    request: wire.BindMarketplaceRequest,
    reply: wire.BindMarketplaceResponse,
    example: { ...signUpExample, organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' },
    refusals: { 404: notHere, 409: 'It belongs to another organisation.', 502: signUpRefusals[502] },
    authorize: asRole(owners),
    serve: async ({ marketplaces, gate }, call, request) => {
      const organization_id = gate.enter(call, request, owners).organisation.organizationId;
      const { sign_up: token, set_variables } = request;
      const browser = call.visitor.cookie('marketplace');
      const brought = { token, browser, setsVariables: set_variables ?? true };
      const bound = await marketplaces.bind(brought, organization_id, actorOf(call));
      const { marketplace, bought, tier, variables, next } = bound;
      return { organization_id, marketplace, bought_tier: bought, subscription_tier: tier, variables, next };
    },
  }),
];
