import { publicAccess, userAccess } from './expected-statuses.ts';
import { formType, inOrganization, withBody } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of marketplaces, which are disabled: permitted callers get 503. */
export const marketplaceTests = {
  'begin-aws-marketplace': {
    expected: publicAccess(503),
    buildInput: () => ({ type: formType, body: 'x-amzn-marketplace-token=x' }),
  },
  'begin-vercel-marketplace': {
    expected: publicAccess(503),
    buildInput: () => ({ query: 'code=x&next=https%3A%2F%2Fvercel.com%2F' }),
  },
  'aws-marketplace-event': {
    expected: publicAccess(503),
    buildInput: withBody(),
  },
  'vercel-marketplace-event': {
    expected: publicAccess(503),
    buildInput: withBody(),
  },
  'get-marketplace-sign-up': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: withBody({ sign_up: 'x'.repeat(43) }),
  },
  'bind-marketplace': {
    expected: userAccess(404, 403, 403, 404),
    buildInput: inOrganization({ sign_up: 'x'.repeat(43) }),
  },
} satisfies OperationTests;
