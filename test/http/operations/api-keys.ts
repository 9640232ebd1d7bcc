import { userAccess } from './expected-statuses.ts';
import { freshKey, inOrganization, ofKey } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of API keys of an organization. */
export const apiKeyTests = {
  'add-organization-api-key': {
    expected: userAccess(201, 201, 403, 404),
    buildInput: inOrganization({ name: 'New', permission: 'read_only' }),
    bodyKind: 'key',
  },
  'update-organization-api-key': {
    expected: userAccess(200, 200, 403, 404),
    buildInput: ofKey({ name: 'Renamed' }),
    bodyKind: 'key',
  },
  'delete-organization-api-key': {
    expected: userAccess(200, 200, 403, 404),
    prepare: freshKey,
  },
} satisfies OperationTests;
