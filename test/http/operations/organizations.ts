import { userAccess } from './expected-statuses.ts';
import { inOrganization, withBody } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of organizations. */
export const organizationTests = {
  'add-organization': {
    expected: userAccess(200, 200, 200, 200),
    buildInput: withBody({ name: 'Another' }),
  },
  'get-organization-info': {
    expected: userAccess(200, 200, 200, 404),
    recording: 'sorted',
  },
  'rename-organization': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: inOrganization({ name: 'North Secret Ltd' }),
    sample: { order: -3 },
  },
  'delete-organization': {
    expected: userAccess(400, 403, 403, 404),
    buildInput: inOrganization({ confirm_name: 'another name' }),
    sample: { order: 7, status: 200 },
  },
  'get-audit-log': {
    expected: userAccess(200, 403, 403, 404),
  },
} satisfies OperationTests;
