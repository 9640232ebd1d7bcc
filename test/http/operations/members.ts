import { userAccess } from './expected-statuses.ts';
import { freshInvitation, withBody } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of members and invitations. */
export const memberTests = {
  'invite-user': {
    expected: userAccess(200, 200, 200, 404),
    buildInput: ({ organization_id }, fresh) => ({
      body: { organization_id, email: `${fresh}@example.com` },
    }),
  },
  'accept-invite': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: withBody({ invite_code: 'a.b.c' }),
  },
  'update-user': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: ({ organization_id, member_id: user_id }) => ({
      body: { organization_id, user_id, permission: 'MEMBER' },
    }),
  },
  'remove-user': {
    expected: userAccess(400, 403, 403, 404),
    buildInput: ({ organization_id, owner_id: user_id }) => ({ body: { organization_id, user_id } }),
    sample: { order: 2, status: 200 },
  },
  'delete-invite-user': {
    expected: userAccess(200, 403, 403, 404),
    prepare: freshInvitation,
  },
} satisfies OperationTests;
