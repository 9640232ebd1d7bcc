import { SubscriptionType } from './admin.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

/** Schemas of marketplace sign-ups, and of the purchases of organizations there. */

const Marketplace = OneOf(['aws', 'vercel'], { title: 'Marketplace', description: 'The marketplace.' });
const signUpField = Type.String({ description: 'Sign-up token from `url`.', maxLength: 256 });

export const AwsMarketplaceRequest = Component('AwsMarketplaceRequest', 'Parameters from AWS Marketplace.', {
  'x-amzn-marketplace-token': Type.Optional(
    Type.String({ description: 'Identifies the purchase for a few hours.' }),
  ),
});
export type AwsMarketplaceRequest = Static<typeof AwsMarketplaceRequest>;

export const VercelMarketplaceRequest = Component('VercelMarketplaceRequest', 'Parameters from Vercel.', {
  code: Type.String({ description: 'Single-use code for the server.' }),
  next: Type.String({ description: 'Final redirect target: a Vercel URL.' }),
  teamId: Type.Optional(Type.String()),
  configurationId: Type.Optional(Type.String()),
});
export type VercelMarketplaceRequest = Static<typeof VercelMarketplaceRequest>;

export const MarketplaceSignUpResponse = Component(
  'MarketplaceSignUpResponse',
  'The page that continues the sign-up.',
  {
    url: Type.String({
      description:
        'A path on this server for signing in. Its query contains `sign_up`, which is valid for an hour.',
    }),
    redirect_url: Type.String({ description: 'Deprecated alias of `url`.' }),
  },
);
export type MarketplaceSignUpResponse = Static<typeof MarketplaceSignUpResponse>;

export const MarketplaceEventRequest = Component('MarketplaceEventRequest', 'A message in raw form.', {
  body: Type.Unsafe<Uint8Array>({ description: 'The raw bytes.' }),
  signature: Type.Optional(Type.String({ description: 'Signature of the bytes.' })),
});
export type MarketplaceEventRequest = Static<typeof MarketplaceEventRequest>;

export const GetMarketplaceSignUpRequest = Component(
  'GetMarketplaceSignUpRequest',
  'The sign-up to describe.',
  {
    sign_up: signUpField,
  },
);
export type GetMarketplaceSignUpRequest = Static<typeof GetMarketplaceSignUpRequest>;

export const GetMarketplaceSignUpResponse = Component(
  'GetMarketplaceSignUpResponse',
  'A pending marketplace sign-up.',
  {
    marketplace: Marketplace,
    account: Nullable(Type.String(), {
      description: 'Account in the marketplace: the AWS account, or the display name in Vercel.',
    }),
    account_id: Nullable(Type.String(), {
      description: 'Account ID assigned by the marketplace.',
    }),
    installation_id: Nullable(Type.String(), { description: 'ID of the Vercel installation.' }),
    expires_at: Timestamp('Expiry time.'),
  },
);
export type GetMarketplaceSignUpResponse = Static<typeof GetMarketplaceSignUpResponse>;

export const BindMarketplaceRequest = Component(
  'BindMarketplaceRequest',
  'A sign-up and the organization to bind it to.',
  {
    sign_up: signUpField,
    organization_id: Uuid('ID of the organization.'),
    set_variables: Type.Optional(
      Type.Boolean({
        description:
          'Vercel only: store an API key of the organization and the URL of this server in the environment variables of the selected projects. Default true.',
      }),
    ),
  },
);
export type BindMarketplaceRequest = Static<typeof BindMarketplaceRequest>;

export const BindMarketplaceResponse = Component('BindMarketplaceResponse', 'The result of the binding.', {
  organization_id: Uuid('ID of the organization.'),
  marketplace: Marketplace,
  bought_tier: Nullable(SubscriptionType, { description: 'Tier of the purchase; null for none.' }),
  subscription_tier: Nullable(SubscriptionType, { description: 'Current tier of the organization.' }),
  variables: Nullable(OneOf(['set', 'waiting', 'refused']), {
    description:
      'State of the Vercel environment variables: `waiting` if Vercel did not respond and the request is retried, `refused` if the integration is not allowed to set them; null if there are none.',
  }),
  next: Nullable(Type.String(), { description: 'Return URL of the marketplace.' }),
});
export type BindMarketplaceResponse = Static<typeof BindMarketplaceResponse>;
