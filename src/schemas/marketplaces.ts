import { SubscriptionType } from './admin.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

/** Schemas of marketplace sign-ups, and of the purchases of organizations there. */

const Marketplace = OneOf(['aws', 'vercel'], { title: 'Marketplace', description: 'Where it was bought.' });
const signUpField = Type.String({ description: 'What `url` ended with.', maxLength: 256 });

export const AwsMarketplaceRequest = Component('AwsMarketplaceRequest', 'What AWS Marketplace sends along.', {
  'x-amzn-marketplace-token': Type.Optional(
    Type.String({ description: 'Names the purchase for some hours.' }),
  ),
});
export type AwsMarketplaceRequest = Static<typeof AwsMarketplaceRequest>;

export const VercelMarketplaceRequest = Component('VercelMarketplaceRequest', 'What Vercel sends along.', {
  code: Type.String({ description: 'For the server, once.' }),
  next: Type.String({ description: 'Where the browser goes at last: an address of Vercel.' }),
  teamId: Type.Optional(Type.String()),
  configurationId: Type.Optional(Type.String()),
});
export type VercelMarketplaceRequest = Static<typeof VercelMarketplaceRequest>;

export const MarketplaceSignUpResponse = Component('MarketplaceSignUpResponse', 'Where to go on.', {
  url: Type.String({
    description: 'A path of this server: sign in there; its query holds `sign_up`, for an hour.',
  }),
  redirect_url: Type.String({ description: 'The same, under its earlier name.' }),
});
export type MarketplaceSignUpResponse = Static<typeof MarketplaceSignUpResponse>;

export const MarketplaceEventRequest = Component('MarketplaceEventRequest', 'A message, as it came.', {
  body: Type.Unsafe<Uint8Array>({ description: 'The bytes as they came.' }),
  signature: Type.Optional(Type.String({ description: 'Of the bytes.' })),
});
export type MarketplaceEventRequest = Static<typeof MarketplaceEventRequest>;

export const GetMarketplaceSignUpRequest = Component('GetMarketplaceSignUpRequest', 'Which sign-up.', {
  sign_up: signUpField,
});
export type GetMarketplaceSignUpRequest = Static<typeof GetMarketplaceSignUpRequest>;

export const GetMarketplaceSignUpResponse = Component(
  'GetMarketplaceSignUpResponse',
  'What waits to be taken for an organisation.',
  {
    marketplace: Marketplace,
    account: Nullable(Type.String(), {
      description: 'Whose it is there: the account at AWS, or the name that its owner chose at Vercel.',
    }),
    account_id: Nullable(Type.String(), {
      description: 'The id that the marketplace gave the account, which its owner cannot choose.',
    }),
    installation_id: Nullable(Type.String(), { description: 'The id that Vercel gave the installation.' }),
    expires_at: Timestamp('Until when it waits.'),
  },
);
export type GetMarketplaceSignUpResponse = Static<typeof GetMarketplaceSignUpResponse>;

export const BindMarketplaceRequest = Component('BindMarketplaceRequest', 'For which organisation it is.', {
  sign_up: signUpField,
  organization_id: Uuid('The organisation.'),
  set_variables: Type.Optional(
    Type.Boolean({
      description:
        'Of Vercel: put an API key of the organisation and the address of this server into the variables of the projects that were chosen there. Absent means yes.',
    }),
  ),
});
export type BindMarketplaceRequest = Static<typeof BindMarketplaceRequest>;

export const BindMarketplaceResponse = Component('BindMarketplaceResponse', 'The organisation has it.', {
  organization_id: Uuid('The organisation.'),
  marketplace: Marketplace,
  bought_tier: Nullable(SubscriptionType, { description: 'What it entitles to; null for nothing.' }),
  subscription_tier: Nullable(SubscriptionType, { description: 'What the organisation has now.' }),
  variables: Nullable(OneOf(['set', 'waiting', 'refused']), {
    description:
      'What became of the variables at Vercel: `waiting` when it did not answer and is asked again, `refused` when the integration may not set them; null where there are none.',
  }),
  next: Nullable(Type.String(), { description: 'Where the marketplace wants the browser back.' }),
});
export type BindMarketplaceResponse = Static<typeof BindMarketplaceResponse>;
