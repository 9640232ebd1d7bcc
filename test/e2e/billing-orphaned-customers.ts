import t, { type Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import type { OrganizationOwner } from './billing-fixture.ts';
import { fixture } from './billing-restart-server.ts';
import { interruptMeterEvents } from './billing-usage.ts';

/** The customer of a deleted organization is deleted in Stripe with its cards once nothing is owed. */

const { emulator, server } = fixture;

async function subscribedOwner(): Promise<{ readonly owner: OrganizationOwner; readonly customer: string }> {
  const owner = await fixture.createOwner();
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.createCard() });
  await owner.call('add-payment-method', { payment_method_id: await owner.createCard() });
  return { owner, customer: owner.customer()! };
}

async function deleteOrganization({
  user,
  organizationId: organization_id,
}: OrganizationOwner): Promise<void> {
  const answer = await user.call('organizations/delete-organization', { organization_id });
  if (answer.status !== 200) throw new Error(`delete-organization answered ${answer.status}: ${answer.text}`);
}

const isDeleted = (customer: string) => emulator.state.get('customer', customer).deleted === true;
const cards = (customer: string) =>
  emulator.state.listObjects('payment_method').filter((card) => card.customer === customer).length;
const invoices = (customer: string) =>
  emulator.state.listObjects('invoice').filter((invoice) => invoice.customer === customer);

/** Customers of organizations that one test deletes; a later one looks at them, after the restarts that all share. */
const orphans = { failingCustomer: '', keptCustomer: '', usingCustomer: '', customerRemovedByHand: '' };

t.test('deleting an organization deletes its customer and cards', async (t) => {
  const [deletedOwner, keptOwner] = [await subscribedOwner(), await subscribedOwner()];
  t.equal(cards(deletedOwner.customer), 2);
  await deleteOrganization(deletedOwner.owner);
  await waitUntil('the customer is deleted', () => isDeleted(deletedOwner.customer));
  t.equal(cards(deletedOwner.customer), 0);
  t.equal(isDeleted(keptOwner.customer), false);
  t.equal(cards(keptOwner.customer), 2);
});

/** Subscription of the same customer to another product of the owner of the Stripe account. */
async function otherSubscription(customer: string, card?: string): Promise<string> {
  const product = await fixture.stripe.products.create({ name: 'Another product' });
  const recurring = { interval: 'month' } as const;
  const price = await fixture.stripe.prices.create({
    currency: 'usd',
    product: product.id,
    unit_amount: 900,
    recurring,
  });
  const charged = card === undefined ? {} : { default_payment_method: card };
  const items = [{ price: price.id }];
  return (await fixture.stripe.subscriptions.create({ customer, items, ...charged })).id;
}

t.test(
  'a customer with subscriptions to other products is kept, with the cards that those need',
  async (t) => {
    const { owner, customer } = await subscribedOwner();
    orphans.keptCustomer = customer;
    const [usual, own] = [await owner.createCard(), await owner.createCard()];
    for (const card of [usual, own]) await fixture.stripe.paymentMethods.attach(card, { customer });
    await fixture.stripe.customers.update(customer, { invoice_settings: { default_payment_method: usual } });
    const others = [await otherSubscription(customer), await otherSubscription(customer, own)];
    t.equal(cards(customer), 4);
    await deleteOrganization(owner);
    const logLine = () =>
      server.fullLog.split('\n').find((line) => line.includes('of a deleted organization kept'));
    await waitUntil('the customer is kept', () => logLine() !== undefined);
    t.match(JSON.parse(logLine()!), { customer, organizationId: owner.organizationId, level: 40 });
    t.equal(isDeleted(customer), false);
    const statuses = emulator.state
      .listObjects('subscription')
      .filter((one) => one.customer === customer)
      .map(({ id, status }) => (others.includes(id) ? `other ${status}` : `ours ${status}`));
    t.same(statuses.sort(), ['other active', 'other active', 'ours canceled']);
    const left = emulator.state.listObjects('payment_method').filter((card) => card.customer === customer);
    t.same(left.map(({ id }) => id).sort(), [usual, own].sort());
    t.same(emulator.state.get('customer', customer).metadata, {}, 'no reference to the organization remains');
  },
);

t.test('the last usage is invoiced before the customer is deleted', async (t) => {
  const { owner, customer } = await subscribedOwner();
  orphans.usingCustomer = customer;
  const payload = { stripe_customer_id: customer, value: String(20_000_000_000) };
  await fixture.stripe.billing.meterEvents.create({ event_name: 'quarry_embed_tokens', payload });
  await fixture.advanceBriefly();
  await deleteOrganization(owner);
  await waitUntil('the last invoice', () => invoices(customer).length === 2);
  t.equal(isDeleted(customer), false);
  await fixture.advanceBriefly(3 * 3_600);
});

const isGivenUp = (customer: string) =>
  server.fullLog
    .split('\n')
    .some(
      (line) =>
        line.includes(customer) &&
        line.includes('deleting the Stripe customer of a deleted organization failed'),
    );

t.test('a customer that cannot be deleted can be deleted by hand', async (t) => {
  const { owner, customer } = await subscribedOwner();
  orphans.customerRemovedByHand = customer;
  emulator.faults.add({ kind: 'lost-before', operation: /^Customers\.del$/, times: 10_000 });
  await deleteOrganization(owner);
  // From this point on, the server makes no further attempt on its own.
  await waitUntil('the server gives up', () => isGivenUp(customer));
  t.equal(cards(customer), 0);
  emulator.faults.clear();
  await fixture.stripe.customers.del(customer);
});

/** Calls that delete a customer with its cards. */
const deletionCalls = /^(PaymentMethods\.detach|Customers\.del)$/;
let interruptedMetering: Awaited<ReturnType<typeof interruptMeterEvents>>;

t.test('while Stripe fails the deletion of a customer stays recorded, also across a kill', async (t) => {
  const { owner, customer } = await subscribedOwner();
  orphans.failingCustomer = customer;
  const failDeletions = () =>
    emulator.faults.add({ kind: 'lost-before', operation: deletionCalls, times: 10_000 });
  failDeletions();
  await deleteOrganization(owner);
  await waitUntil('the subscription has ended', () => {
    const subscriptions = emulator.state
      .listObjects('subscription')
      .filter((one) => one.customer === customer);
    return subscriptions.every(({ status }) => status === 'canceled');
  });
  t.equal(isDeleted(customer), false);
  interruptedMetering = await interruptMeterEvents();
  t.strictSame(interruptedMetering.meteredOfBoth(), interruptedMetering.meteredBefore);
  await server.stop('SIGKILL');
  emulator.faults.clear();
  failDeletions();
  emulator.moveTo(emulator.now + 26 * 3_600);
  await fixture.restart();
  t.equal(isDeleted(customer), false, 'Stripe still fails');
});

t.test('an interrupted meter event is not sent twice after its identifier expired in Stripe', async (t) => {
  await interruptedMetering.pauseBoth();
  t.strictSame(interruptedMetering.meteredOfBoth(), interruptedMetering.used);
});

/** Checks after a kill and a start of the server with Stripe working again. */
export async function checkOrphanedCustomers(t: Test): Promise<void> {
  await t.test('the deletion of a customer continues after a killed server restarts', async (t) => {
    await waitUntil('the customer is deleted', () => isDeleted(orphans.failingCustomer));
    t.equal(cards(orphans.failingCustomer), 0);
  });
  await t.test('after a start, a customer that was kept is not looked at again', async (t) => {
    t.equal(isDeleted(orphans.keptCustomer), false);
  });
  await t.test('the customer is deleted once the last usage is paid', checkUsingCustomer);
  await t.test('a manually deleted customer is no longer recorded', checkCustomerRemovedByHand);
}

async function checkUsingCustomer(t: Test): Promise<void> {
  await waitUntil('the customer is deleted', () => isDeleted(orphans.usingCustomer));
  const last = invoices(orphans.usingCustomer).at(-1)!;
  t.match(last, { status: 'paid' });
  t.ok(last.amount_paid > 90_000, `${last.amount_paid} cents were paid for the last usage`);
}

async function checkCustomerRemovedByHand(t: Test): Promise<void> {
  const logLine = /"customer":"(cus_\w+)".*of a deleted organization deleted/g;
  const deletions = () =>
    [...server.fullLog.matchAll(logLine)].filter(([, id]) => id === orphans.customerRemovedByHand).length;
  await waitUntil('the removal of the record', () => deletions() > 0);
  t.equal(deletions(), 1);
}
