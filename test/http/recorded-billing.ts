import { BillingFixture } from '../e2e/billing-fixture.ts';
import { createPromotionCode } from '../e2e/billing-steps.ts';
import type { Test } from '../support/tap.ts';
import { type RecordedReply, toRecordedReply } from './recorded-reply.ts';

/** At the start of a month, the prorated amounts do not depend on the seconds that the test takes. */
const startsAt = '2027-03-01T00:00:00Z';

/** Plan changes of one organization, with its Stripe account emulated. */
export async function recordBilling(t: Test): Promise<RecordedReply[]> {
  const fixture = await BillingFixture.start(t, startsAt);
  const owner = await fixture.createOwner();
  const known = {
    [fixture.server.url]: 'server',
    [fixture.emulator.url]: 'stripe',
    [owner.organizationId]: 'organization_id',
  };
  const replies: RecordedReply[] = [];
  const call = async (operation: string, body: object = {}) => {
    const reply = await owner.request(operation, body);
    replies.push(toRecordedReply(`POST /api/billing/${operation} ${replies.length}`, reply, known));
    await fixture.waitUntilSynced();
    return reply;
  };
  const subscribe = async (tier: string) => {
    const { body } = await call('preview', { tier });
    return call('subscribe', { tier, as_of: body.as_of, payment_method_id: await owner.createCard() });
  };
  await createPromotionCode(fixture, 'WELCOME');
  await call('status');
  await call('redeem-code', { code: 'WELCOME' });
  await call('redeem-code', { code: 'UNKNOWN' });
  await subscribe('starter');
  await call('status');
  await subscribe('teams');
  await call('downgrade', { tier: 'starter' });
  await call('status');
  await call('cancel-downgrade');
  await call('add-payment-method');
  await call('manage-billing-details');
  await call('cancel-upgrade');
  await call('pause');
  await call('status');
  await call('remove-payment-method', { payment_method_id: 'pm_unknown' });
  fixture.checkNoInvalidRequests(t);
  return replies;
}
