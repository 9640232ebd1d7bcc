import { limits } from '../core/limits.ts';
import {
  OrganizationStorage,
  overrideChangeFields,
  overrideFields,
  RateLimits,
} from './organization-limits.ts';
import { keyPermissions } from './principal.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

export const DBAPIKeyPermission = OneOf(keyPermissions, {
  title: 'DBAPIKeyPermission',
  description: '`all`, or `read_only` for operations that change nothing.',
});
export type DBAPIKeyPermission = Static<typeof DBAPIKeyPermission>;

const subscriptionTypes = ['free', 'starter', 'teams', 'enterprise'] as const;
export const SubscriptionType = OneOf(subscriptionTypes, {
  title: 'SubscriptionType',
  description: 'The tier; it decides the rate limits.',
});
export type SubscriptionType = Static<typeof SubscriptionType>;

const organizationId = Uuid('The organisation.');
const apiKeyId = Uuid('The API key.');

export const CreateOrganizationRequest = Component(
  'CreateOrganizationRequest',
  'An organisation to create.',
  {
    organization_id: Uuid('The id of the new organisation; one that exists answers 409.'),
  },
);
export type CreateOrganizationRequest = Static<typeof CreateOrganizationRequest>;

export const ListOrganizationsRequest = Component(
  'ListOrganizationsRequest',
  'Which part of the list of organisations.',
  {
    after: Type.Optional(
      Nullable(Type.String({ format: 'uuid' }), {
        description: 'The `next_after` of the last reply: goes on behind this id.',
      }),
    ),
    limit: Type.Optional(
      Nullable(Type.Integer({ minimum: 1, maximum: limits.organizationsPageMax }), {
        description: '100 when absent.',
      }),
    ),
  },
);
export type ListOrganizationsRequest = Static<typeof ListOrganizationsRequest>;

const OrganizationListItem = Component('ListedOrganization', 'An organisation in a list.', {
  organization_id: organizationId,
  name: Type.String(),
  subscription_tier: SubscriptionType,
  created_at: Timestamp('When it was created.'),
  zdr: Type.Boolean({ description: 'Zero data retention.' }),
  overridden: Type.Boolean({ description: 'Whether it has overrides.' }),
});

export const ListOrganizationsResponse = Component('ListOrganizationsResponse', 'Organisations by id.', {
  organizations: Type.Array(OrganizationListItem),
  next_after: Nullable(Type.String(), { description: 'For the next page; null when this was the last.' }),
});
export type ListOrganizationsResponse = Static<typeof ListOrganizationsResponse>;

export const GetOrganizationRequest = Component('GetOrganizationRequest', 'An organisation to describe.', {
  organization_id: organizationId,
});
export type GetOrganizationRequest = Static<typeof GetOrganizationRequest>;

export const GetOrganizationResponse = Component('GetOrganizationResponse', 'An organisation.', {
  organization_id: organizationId,
  name: Type.String(),
  subscription_tier: SubscriptionType,
  ...overrideFields,
  rate_limits: RateLimits,
  storage: OrganizationStorage,
  zdr: Type.Boolean({ description: 'Zero data retention: no text of the organisation reaches a log.' }),
});
export type GetOrganizationResponse = Static<typeof GetOrganizationResponse>;

export const AdminUpdateOrganizationRequest = Component(
  'UpdateOrganizationRequest',
  'What to change of an organisation.',
  {
    organization_id: organizationId,
    subscription_tier: Type.Optional(
      Nullable(SubscriptionType, {
        description: 'Given free of charge. The better of this and the tier that is paid for applies.',
      }),
    ),
    ...overrideChangeFields,
    zdr: Type.Optional(Nullable(Type.Boolean(), { description: 'Turn zero data retention on or off.' })),
  },
);
export type AdminUpdateOrganizationRequest = Static<typeof AdminUpdateOrganizationRequest>;

export const APIKeyRestriction = Component('APIKeyRestriction', 'All that a key sees; null means no bound.', {
  collection_names: Nullable(Type.Array(Type.String()), {
    description:
      'The only collections there are for the key, 1 to 256, also of names that do not exist yet; null for all.',
    examples: [['handbook']],
  }),
  filter: Nullable(Type.Record(Type.String(), Type.Unknown()), {
    description:
      'Only documents whose metadata match are there for the key, in every operation; as queries filter. Null or `{}` for all.',
    examples: [{ tenant: 'acme' }],
  }),
});
export type APIKeyRestriction = Static<typeof APIKeyRestriction>;

export const restrictionInput = Type.Optional(
  Nullable(APIKeyRestriction, { description: 'What the key sees; all of the organisation when absent.' }),
);
export const restrictionChange = Type.Optional(
  Nullable(APIKeyRestriction, {
    description:
      'Replaces what the key sees; absent or null keeps it, `{"collection_names": null, "filter": null}` ends it.',
  }),
);
export const restrictionOutput = Nullable(APIKeyRestriction, {
  description: 'What the key sees; null for all of the organisation.',
});

export const expiryInput = Type.Optional(
  Nullable(Type.String({ format: 'date-time' }), {
    description: 'When it ends by itself; never when absent.',
  }),
);
export const expiryOutput = Nullable(Timestamp('When it ends by itself.'));
export const lastUseOutput = Nullable(Timestamp('To the minute; null for a key that was never used.'));

export const AdminAddAPIKeyRequest = Component('AddAPIKeyRequest', 'An API key to issue.', {
  organization_id: organizationId,
  name: Type.String({ description: 'A name for people, 1 to 256 bytes.', examples: ['Website'] }),
  permission: DBAPIKeyPermission,
  created_by: Type.Optional(Nullable(Type.String(), { description: 'Who asked for it.' })),
  expires_at: expiryInput,
  restriction: restrictionInput,
});
export type AdminAddAPIKeyRequest = Static<typeof AdminAddAPIKeyRequest>;

export const AdminAddAPIKeyResponse = Component('AddAPIKeyResponse', 'The new key, shown this once.', {
  api_key: Type.String({ description: 'The secret; the server keeps only its hash.' }),
});
export type AdminAddAPIKeyResponse = Static<typeof AdminAddAPIKeyResponse>;

export const ListAPIKeysRequest = Component('ListAPIKeysRequest', 'Whose keys to list.', {
  organization_id: organizationId,
});
export type ListAPIKeysRequest = Static<typeof ListAPIKeysRequest>;

export const APIKeyInfo = Component('APIKeyInfo', 'An API key without its secret.', {
  id: apiKeyId,
  created_at: Timestamp('When it was issued.'),
  name: Type.String(),
  permission: DBAPIKeyPermission,
  created_by: Nullable(Type.String()),
  expires_at: expiryOutput,
  last_used_at: lastUseOutput,
  restriction: restrictionOutput,
  api_key: Type.String({ description: 'The key, masked.' }),
});
export type APIKeyInfo = Static<typeof APIKeyInfo>;

export const ListAPIKeysResponse = Component('ListAPIKeysResponse', 'The keys of an organisation.', {
  api_keys: Type.Array(APIKeyInfo),
});
export type ListAPIKeysResponse = Static<typeof ListAPIKeysResponse>;

export const AdminUpdateAPIKeyRequest = Component('UpdateAPIKeyRequest', 'What to change of an API key.', {
  organization_id: organizationId,
  api_key_id: apiKeyId,
  name: Type.Optional(
    Nullable(Type.String(), { description: 'A new name, 1 to 256 bytes; absent or null keeps it.' }),
  ),
  permission: Type.Optional(Nullable(DBAPIKeyPermission)),
  restriction: restrictionChange,
});
export type AdminUpdateAPIKeyRequest = Static<typeof AdminUpdateAPIKeyRequest>;

export const AdminDeleteAPIKeyRequest = Component('DeleteAPIKeyRequest', 'An API key to revoke.', {
  organization_id: organizationId,
  api_key_id: apiKeyId,
});
export type AdminDeleteAPIKeyRequest = Static<typeof AdminDeleteAPIKeyRequest>;

export const AdminDeleteOrganizationRequest = Component(
  'AdminDeleteOrganizationRequest',
  'Which organisation to delete.',
  { organization_id: organizationId },
);
export type AdminDeleteOrganizationRequest = Static<typeof AdminDeleteOrganizationRequest>;

export const InspectOrganizationRequest = Component(
  'InspectOrganizationRequest',
  'Which organisation to look for.',
  { organization_id: organizationId },
);
export type InspectOrganizationRequest = Static<typeof InspectOrganizationRequest>;

const InspectionFinding = Component('InspectionFinding', 'Something that is there.', {
  place: Type.String({ description: 'A table of the store, or a kind of files.' }),
  count: Type.Integer(),
});

export const InspectOrganizationResponse = Component(
  'InspectOrganizationResponse',
  'What there is of an organisation.',
  {
    organization_id: organizationId,
    state: OneOf(['exists', 'deleting', 'gone'], {
      description: '`deleting`: it answers nobody any more, and its data are being removed.',
    }),
    removed_at: Nullable(Timestamp('When the last of it was removed, as the audit log notes it.')),
    remains: Type.Array(InspectionFinding, { description: 'Rows that belong to it or name it.' }),
    orphans: Type.Array(InspectionFinding, {
      description: 'Rows and files of collections and documents that do not exist, whoever had them.',
    }),
  },
);
export type InspectOrganizationResponse = Static<typeof InspectOrganizationResponse>;
