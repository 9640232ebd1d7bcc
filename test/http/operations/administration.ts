import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { administratorAccess } from './expected-statuses.ts';
import { freshKey, freshOrganization, freshUser, inOrganization, ofKey, withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DateTime, DefaultResponse, Nullable, OneOf, Uuid } from './reply-types.ts';

const AddAPIKeyResponse = Type.Object({ api_key: Type.String() });
const APIKeyInfo = Type.Object({
  id: Uuid,
  created_at: DateTime,
  name: Type.String(),
  permission: OneOf(['all', 'read_only']),
  created_by: Nullable(Type.String()),
  api_key: Type.String(),
});
const ListAPIKeysResponse = Type.Object({ api_keys: Type.Array(APIKeyInfo) });
const GetOrganizationResponse = Type.Object({
  organization_id: Uuid,
  name: Type.String(),
  subscription_tier: OneOf(['free', 'starter', 'teams', 'enterprise']),
  override_bpm_fast: Nullable(Type.Integer()),
  override_bpm_slow: Nullable(Type.Integer()),
  override_max_bytes_per_request: Nullable(Type.Integer()),
  zdr: Type.Boolean(),
});
const ListOrganizationsResponse = Type.Object({
  organizations: Type.Array(
    Type.Object({
      organization_id: Type.String(),
      name: Type.String(),
      storage: Type.Optional(
        Type.Object({
          documents: Type.Integer(),
          bytes: Type.Integer(),
          ingest_documents: Type.Integer(),
        }),
      ),
    }),
  ),
  next_after: Nullable(Type.String()),
});

/** Operations of administration. */
export const administrationTests = {
  'create-organization': {
    expected: administratorAccess(201),
    buildInput: () => ({ body: { organization_id: randomUUID() } }),
    published: published('admin/create-organization', DefaultResponse),
    sample: { order: -4 },
  },
  'list-organizations': {
    expected: administratorAccess(200),
    published: published('admin/list-organizations', ListOrganizationsResponse),
    recording: 'sorted',
  },
  'get-organization': {
    expected: administratorAccess(200),
    published: published('admin/get-organization', GetOrganizationResponse),
  },
  'update-organization': {
    expected: administratorAccess(200),
    buildInput: inOrganization({ zdr: false }),
    published: published('admin/update-organization', DefaultResponse),
  },
  'add-api-key': {
    expected: administratorAccess(201),
    buildInput: inOrganization({ name: 'New', permission: 'all' }),
    bodyKind: 'key',
    published: published('admin/add-api-key', AddAPIKeyResponse),
  },
  'list-api-keys': {
    expected: administratorAccess(200),
    published: published('admin/list-api-keys', ListAPIKeysResponse),
  },
  'update-api-key': {
    expected: administratorAccess(200),
    buildInput: ofKey({ name: 'Renamed' }),
    bodyKind: 'key',
    published: published('admin/update-api-key', DefaultResponse),
  },
  'delete-api-key': {
    expected: administratorAccess(200),
    prepare: freshKey,
    published: published('admin/delete-api-key', DefaultResponse),
  },
  'delete-any-organization': {
    expected: administratorAccess(200),
    prepare: freshOrganization,
    published: published('admin/delete-organization', DefaultResponse),
    sample: { order: 6 },
  },
  'inspect-organization': {
    expected: administratorAccess(200),
  },
  'list-users': {
    expected: administratorAccess(200),
    recording: 'sorted',
  },
  'end-user-sessions': {
    expected: administratorAccess(200),
    prepare: freshUser,
  },
  'disable-user': {
    expected: administratorAccess(200),
    prepare: freshUser,
  },
  'enable-user': {
    expected: administratorAccess(200),
    prepare: freshUser,
  },
  'delete-user': {
    expected: administratorAccess(200),
    prepare: freshUser,
    sample: { order: 3 },
  },
  'reset-second-factor': {
    expected: administratorAccess(200),
    prepare: freshUser,
  },
  'create-password-link': {
    expected: administratorAccess(200),
    prepare: freshUser,
  },
  'list-user-passkeys': {
    expected: administratorAccess(200),
    prepare: freshUser,
  },
  'delete-user-passkeys': {
    expected: administratorAccess(200),
    prepare: freshUser,
  },
  'get-administrator-second-factor': {
    expected: administratorAccess(200),
  },
  'begin-administrator-second-factor': {
    expected: administratorAccess(200),
  },
  'confirm-administrator-second-factor': {
    expected: administratorAccess(400),
    buildInput: withBody({ code: 'x' }),
  },
  'disable-administrator-second-factor': {
    expected: administratorAccess(400),
    buildInput: withBody({ code: 'x' }),
  },
  'get-any-audit-log': {
    expected: administratorAccess(200),
  },
} satisfies OperationTests;
