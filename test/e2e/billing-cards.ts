import t from '../support/tap.ts';
import type { OrganizationOwner } from './billing-fixture.ts';
import { fixture } from './billing-server.ts';
import { subscribedOwner } from './billing-steps.ts';

/** Payment methods. */

const { emulator } = fixture;

/** Audit log entries about cards, newest first. */
async function cardEntries({ user, organizationId: organization_id }: OrganizationOwner) {
  const { entries } = (await user.call('organizations/get-audit-log', { organization_id })).body;
  return entries.filter(({ action }: { action: string }) => action.startsWith('billing.payment_method_'));
}

t.test('a card entered in Stripe is shown at once, also before the event of Stripe arrives', async (t) => {
  const owner = await fixture.createOwner();
  const form = await owner.call('add-payment-method', { return_url: '/app/billing' });
  await owner.call('status');
  emulator.webhooks.deliveryMode = () => 'held';
  t.teardown(() => {
    emulator.webhooks.deliveryMode = () => 'sent';
    emulator.webhooks.release();
  });
  await fetch(form.url, {
    method: 'POST',
    body: new URLSearchParams({ card: 'pm_card_visa' }),
    redirect: 'manual',
  });
  t.match(await owner.call('status'), { payment_methods: [{ brand: 'visa', last4: '4242' }] });
});

t.test(
  'cards are added by form or ID, shown and removed, and cards of other organizations are never accessible',
  async (t) => {
    const owner = await fixture.createOwner();
    const form = await owner.call('add-payment-method', { return_url: '/app/billing' });
    const { allowed_payment_method_types: types } = await fixture.stripe.checkout.sessions.retrieve(
      form.session_id,
    );
    t.strictSame(types, ['card'], 'payment methods with delayed payment are not offered');
    const visited = await fetch(form.url, {
      method: 'POST',
      body: new URLSearchParams({ card: 'pm_card_mastercard' }),
      redirect: 'manual',
    });
    t.equal(visited.headers.get('location'), `${fixture.server.url}/app/billing`);
    await emulator.webhooks.waitUntilDelivered();
    const statusReply = await owner.status();
    t.match(statusReply.payment_method, { brand: 'mastercard', last4: '4444' });
    const card = await owner.createCard();
    t.match(await owner.call('add-payment-method', { payment_method_id: card }), {
      payment_method: { id: card },
    });
    t.equal((await owner.status()).payment_methods.length, 2);
    const other = await subscribedOwner(fixture, 'starter');
    const otherCard = (await other.status()).payment_method.id;
    for (const id of [otherCard, 'pm_never', '../customers', ''])
      for (const operation of ['remove-payment-method', 'add-payment-method']) {
        const { status } = await owner.request(operation, { payment_method_id: id });
        t.ok([404, 422].includes(status), `${operation} of "${id}": ${status}`);
      }
    t.equal(
      (await owner.request('subscribe', { tier: 'starter', payment_method_id: otherCard })).status,
      404,
    );
    t.equal(
      (await other.request('remove-payment-method', { payment_method_id: otherCard })).status,
      400,
      'the last card of a paying organization cannot be removed',
    );
    await other.call('downgrade', { tier: 'free' });
    t.match(
      await other.request('remove-payment-method', { payment_method_id: otherCard }),
      { status: 400, body: { detail: /outstanding usage/ } },
      'usage can be charged until the scheduled end',
    );
    t.equal((await owner.request('remove-payment-method', { payment_method_id: card })).status, 200);
    t.equal((await owner.status()).payment_methods.length, 1);
    const [entered] = (await owner.status()).payment_methods;
    t.match(
      await cardEntries(owner),
      [
        { action: 'billing.payment_method_removed', actor: /-/, details: { payment_method: card } },
        { action: 'billing.payment_method_added', actor: /-/, details: { payment_method: card } },
        { action: 'billing.payment_method_added', actor: 'system', details: { payment_method: entered.id } },
      ],
      'each card is in the audit log once, the one of the form without a user',
    );
    const begins = await fixture.createOwner();
    const confirmationCard = await begins.createCard('tok_authenticationRequired');
    const begun = await begins.call('subscribe', { tier: 'starter', payment_method_id: confirmationCard });
    t.equal(begun.status, 'requires_action');
    await begins.call('remove-payment-method', { payment_method_id: confirmationCard });
    t.strictSame((await begins.status()).payment_methods, [], 'an unpaid first tier is not a debt');
    t.match((await owner.call('manage-billing-details')).url, new RegExp(`^${emulator.url}/portal/`));
  },
);
