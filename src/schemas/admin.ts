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
  description: 'The tier, which determines the rate limits.',
});
export type SubscriptionType = Static<typeof SubscriptionType>;

const organizationId = Uuid('ID of the organization.');
const apiKeyId = Uuid('ID of the API key.');

export const CreateOrganizationRequest = Component(
  'CreateOrganizationRequest',
  'An organization to create.',
  {
    organization_id: Uuid('ID of the new organization; returns 409 if it exists.'),
  },
);
export type CreateOrganizationRequest = Static<typeof CreateOrganizationRequest>;

/** Fields of a request for a page of a list that is ordered by ID. */
export const pageFields = {
  after: Type.Optional(
    Nullable(Type.String({ format: 'uuid' }), {
      description: 'The `next_after` of the previous reply; the list continues after this ID.',
    }),
  ),
  limit: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: limits.organizationsPageMax }), {
      description: 'Maximum number of entries; default 100.',
    }),
  ),
};

export const ListOrganizationsRequest = Component(
  'ListOrganizationsRequest',
  'Page of the list of organizations.',
  {
    ...pageFields,
    include_storage: Type.Optional(
      Nullable(Type.Boolean(), { description: 'Whether to return the storage of each organization.' }),
    ),
  },
);
export type ListOrganizationsRequest = Static<typeof ListOrganizationsRequest>;

const OrganizationListItem = Component('ListedOrganization', 'An organization in a list.', {
  organization_id: organizationId,
  name: Type.String(),
  subscription_tier: SubscriptionType,
  created_at: Timestamp('Creation time.'),
  zdr: Type.Boolean({ description: 'Zero data retention.' }),
  overridden: Type.Boolean({ description: 'Whether it has overrides.' }),
  storage: Type.Optional(OrganizationStorage),
});

export const ListOrganizationsResponse = Component(
  'ListOrganizationsResponse',
  'Organizations ordered by ID.',
  {
    organizations: Type.Array(OrganizationListItem),
    next_after: Nullable(Type.String(), { description: 'Cursor of the next page; null on the last page.' }),
  },
);
export type ListOrganizationsResponse = Static<typeof ListOrganizationsResponse>;

export const GetOrganizationRequest = Component('GetOrganizationRequest', 'An organization to describe.', {
  organization_id: organizationId,
});
export type GetOrganizationRequest = Static<typeof GetOrganizationRequest>;

export const GetOrganizationResponse = Component('GetOrganizationResponse', 'An organization.', {
  organization_id: organizationId,
  name: Type.String(),
  subscription_tier: SubscriptionType,
  ...overrideFields,
  rate_limits: RateLimits,
  storage: OrganizationStorage,
  zdr: Type.Boolean({ description: 'Zero data retention: no text of the organization is written to a log.' }),
});
export type GetOrganizationResponse = Static<typeof GetOrganizationResponse>;

export const AdminUpdateOrganizationRequest = Component(
  'UpdateOrganizationRequest',
  'Changes to an organization.',
  {
    organization_id: organizationId,
    subscription_tier: Type.Optional(
      Nullable(SubscriptionType, {
        description:
          'Tier granted free of charge. The highest of the granted, paid and purchased tiers applies.',
      }),
    ),
    ...overrideChangeFields,
    zdr: Type.Optional(Nullable(Type.Boolean(), { description: 'Enables or disables zero data retention.' })),
  },
);
export type AdminUpdateOrganizationRequest = Static<typeof AdminUpdateOrganizationRequest>;

export const APIKeyRestriction = Component(
  'APIKeyRestriction',
  'Restriction of a key; null means unrestricted.',
  {
    collection_names: Nullable(Type.Array(Type.String()), {
      description:
        'Collections that the key can access (1 to 256 names, which need not exist yet); null for all.',
      examples: [['handbook']],
    }),
    filter: Nullable(Type.Record(Type.String(), Type.Unknown()), {
      description:
        'Metadata filter that applies to every operation of the key, in the syntax of query filters. Null or `{}` for all documents.',
      examples: [{ tenant: 'acme' }],
    }),
  },
);
export type APIKeyRestriction = Static<typeof APIKeyRestriction>;

export const restrictionInput = Type.Optional(
  Nullable(APIKeyRestriction, { description: 'Restriction of the key; absent or null means unrestricted.' }),
);
export const restrictionChange = Type.Optional(
  Nullable(APIKeyRestriction, {
    description:
      'Replaces the restriction; absent or null keeps it, `{"collection_names": null, "filter": null}` removes it.',
  }),
);
export const restrictionOutput = Nullable(APIKeyRestriction, {
  description: 'Restriction of the key; null if unrestricted.',
});

const origins = Type.Array(Type.String(), { examples: [['https://www.example.com']] });
export const originsInput = Type.Optional(
  Nullable(origins, {
    description:
      'Origins whose pages may call the API with the key (CORS): scheme, host and port, without wildcards, at most 64. Absent or null means none.',
  }),
);
export const originsChange = Type.Optional(
  Nullable(origins, {
    description: 'Replaces the allowed origins; absent or null keeps them, `[]` removes them.',
  }),
);
export const originsOutput = Type.Array(Type.String(), {
  description: 'Origins whose pages may call the API with the key.',
});

export const expiryInput = Type.Optional(
  Nullable(Type.String({ format: 'date-time' }), {
    description: 'Expiry time; absent or null means that the key does not expire.',
  }),
);
export const expiryOutput = Nullable(Timestamp('Expiry time; null if the key does not expire.'));
export const lastUseOutput = Nullable(Timestamp('Last use, to the minute; null if the key was never used.'));

export const AdminAddAPIKeyRequest = Component('AddAPIKeyRequest', 'An API key to create.', {
  organization_id: organizationId,
  name: Type.String({ description: 'Display name, 1 to 256 bytes.', examples: ['Website'] }),
  permission: DBAPIKeyPermission,
  created_by: Type.Optional(Nullable(Type.String(), { description: 'Name of the requester.' })),
  expires_at: expiryInput,
  restriction: restrictionInput,
  allowed_origins: originsInput,
});
export type AdminAddAPIKeyRequest = Static<typeof AdminAddAPIKeyRequest>;

export const AdminAddAPIKeyResponse = Component(
  'AddAPIKeyResponse',
  'The new key, shown only in this reply.',
  {
    api_key: Type.String({ description: 'The secret; the server stores only its hash.' }),
  },
);
export type AdminAddAPIKeyResponse = Static<typeof AdminAddAPIKeyResponse>;

export const ListAPIKeysRequest = Component('ListAPIKeysRequest', 'The organization of the keys.', {
  organization_id: organizationId,
});
export type ListAPIKeysRequest = Static<typeof ListAPIKeysRequest>;

export const APIKeyInfo = Component('APIKeyInfo', 'An API key without its secret.', {
  id: apiKeyId,
  created_at: Timestamp('Creation time.'),
  name: Type.String(),
  permission: DBAPIKeyPermission,
  created_by: Nullable(Type.String()),
  expires_at: expiryOutput,
  last_used_at: lastUseOutput,
  restriction: restrictionOutput,
  allowed_origins: originsOutput,
  api_key: Type.String({ description: 'The key, masked.' }),
});
export type APIKeyInfo = Static<typeof APIKeyInfo>;

export const ListAPIKeysResponse = Component('ListAPIKeysResponse', 'The keys of an organization.', {
  api_keys: Type.Array(APIKeyInfo),
});
export type ListAPIKeysResponse = Static<typeof ListAPIKeysResponse>;

export const AdminUpdateAPIKeyRequest = Component('UpdateAPIKeyRequest', 'Changes to an API key.', {
  organization_id: organizationId,
  api_key_id: apiKeyId,
  name: Type.Optional(
    Nullable(Type.String(), { description: 'A new name, 1 to 256 bytes; absent or null keeps it.' }),
  ),
  permission: Type.Optional(Nullable(DBAPIKeyPermission)),
  restriction: restrictionChange,
  allowed_origins: originsChange,
});
export type AdminUpdateAPIKeyRequest = Static<typeof AdminUpdateAPIKeyRequest>;

export const AdminDeleteAPIKeyRequest = Component('DeleteAPIKeyRequest', 'An API key to revoke.', {
  organization_id: organizationId,
  api_key_id: apiKeyId,
});
export type AdminDeleteAPIKeyRequest = Static<typeof AdminDeleteAPIKeyRequest>;

export const AdminDeleteOrganizationRequest = Component(
  'AdminDeleteOrganizationRequest',
  'The organization to delete.',
  { organization_id: organizationId },
);
export type AdminDeleteOrganizationRequest = Static<typeof AdminDeleteOrganizationRequest>;

export const InspectOrganizationRequest = Component(
  'InspectOrganizationRequest',
  'The organization to search for.',
  { organization_id: organizationId },
);
export type InspectOrganizationRequest = Static<typeof InspectOrganizationRequest>;

const InspectionFinding = Component('InspectionFinding', 'Data that was found.', {
  place: Type.String({ description: 'A table of the store, or a kind of files.' }),
  count: Type.Integer(),
});

export const InspectOrganizationResponse = Component(
  'InspectOrganizationResponse',
  'Existing data of an organization.',
  {
    organization_id: organizationId,
    state: OneOf(['exists', 'deleting', 'gone'], {
      description: '`deleting`: access is blocked and the data is being removed.',
    }),
    removed_at: Nullable(Timestamp('Completion time of the removal, from the audit log.')),
    remains: Type.Array(InspectionFinding, {
      description: 'Rows that belong to the organization or reference it.',
    }),
    orphans: Type.Array(InspectionFinding, {
      description: 'Orphaned rows and files of deleted collections and documents of any organization.',
    }),
  },
);
export type InspectOrganizationResponse = Static<typeof InspectOrganizationResponse>;
