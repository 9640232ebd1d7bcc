import type { FaultKind } from '../support/stripe-emulator/faults.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { BillingFixture, type OrganizationOwner } from './billing-fixture.ts';
import type { HttpReply } from './people.ts';

/**
 * The server of `billing-restarts.test.ts`, which its scenarios kill and start again. It starts with a key that Stripe
 * rejects; `billing-key.ts` corrects it.
 */

t.setTimeout(testFileMsMax);

export const revokedKey = 'sk_test_revoked_key';
export const fixture = await BillingFixture.start(t, '2027-03-10T12:00:00Z', {
  STRIPE_SECRET_KEY: revokedKey,
});

/** Call in progress when the server is killed. */
export interface InterruptedCall {
  readonly owner: OrganizationOwner;
  readonly call: () => Promise<HttpReply>;
  /** Fault after which Stripe sends no reply, and the request that it applies to. */
  readonly kind: FaultKind;
  readonly operation: RegExp;
  readonly text: string;
}

/** Organizations whose calls the kill interrupts, and the checks after the next start. */
export interface InterruptedScenario {
  readonly interrupted: readonly InterruptedCall[];
  readonly check: (t: Test) => Promise<void>;
}
