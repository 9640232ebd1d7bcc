import { userAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of users. */
export const userTests = {
  'get-user': {
    expected: userAccess(200, 200, 200, 200),
  },
  'edit-user': {
    expected: userAccess(200, 200, 200, 200),
    buildInput: withBody({ company: 'Any' }),
  },
  'delete-own-user': {
    expected: userAccess(400, 400, 400, 400),
    buildInput: withBody({ confirm_email: 'other@example.com' }),
    // The user owns the organization of the sample of add-organization.
    sample: { order: 8, status: 409 },
  },
  'get-second-factor': {
    expected: userAccess(200, 200, 200, 200),
  },
  'begin-second-factor': {
    expected: userAccess(200, 200, 200, 200),
  },
  'confirm-second-factor': {
    expected: userAccess(400, 400, 400, 400),
    buildInput: withBody({ code: 'x' }),
  },
  'disable-second-factor': {
    expected: userAccess(400, 400, 400, 400),
    buildInput: withBody({ code: 'x' }),
  },
  'set-password': {
    expected: userAccess(400, 400, 400, 400),
    buildInput: withBody({ password: 'x' }),
    sample: { status: 200 },
  },
  'list-sessions': {
    expected: userAccess(200, 200, 200, 200),
  },
  'revoke-session': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: ({ owner_id: session_id }) => ({ body: { session_id } }),
    sample: { order: 9, status: 200 },
  },
} satisfies OperationTests;
