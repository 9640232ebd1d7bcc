import t from 'tap';
import { fileMsMax, until } from '../waiting.ts';
import { BillingWorld, type Owner } from './billing-world.ts';

/** The customer of a deleted organization is deleted at Stripe with its cards, when nothing is owed any more. */

t.setTimeout(fileMsMax);
const world = await BillingWorld.start(t, '2027-09-10T12:00:00Z');
const { emulator, server } = world;

async function paying(): Promise<{ readonly owner: Owner; readonly customer: string }> {
  const owner = await world.owner();
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.card() });
  await owner.call('add-payment-method', { payment_method_id: await owner.card() });
  return { owner, customer: owner.customer()! };
}

async function deleteOrganization({ person, organizationId: organization_id }: Owner): Promise<void> {
  const answer = await person.call('organizations/delete-organization', { organization_id });
  if (answer.status !== 200) throw new Error(`delete-organization answered ${answer.status}: ${answer.text}`);
}

const isDeleted = (customer: string) => emulator.world.get('customer', customer).deleted === true;
const cards = (customer: string) =>
  emulator.world.all('payment_method').filter((card) => card.customer === customer).length;
const invoices = (customer: string) =>
  emulator.world.all('invoice').filter((invoice) => invoice.customer === customer);

t.test('the customer goes with the organization, and its cards with it', async (t) => {
  const [gone, stays] = [await paying(), await paying()];
  t.equal(cards(gone.customer), 2);
  await deleteOrganization(gone.owner);
  await until('the customer is deleted', () => isDeleted(gone.customer));
  t.equal(cards(gone.customer), 0);
  t.equal(isDeleted(stays.customer), false);
  t.equal(cards(stays.customer), 2);
});

/** A subscription to something else that the owner of the Stripe account sells to the same customer. */
async function otherSubscription(customer: string, card?: string): Promise<string> {
  const product = await world.stripe.products.create({ name: 'Another product' });
  const recurring = { interval: 'month' } as const;
  const price = await world.stripe.prices.create({
    ...{ currency: 'usd', product: product.id, unit_amount: 900, recurring },
  });
  const charged = card === undefined ? {} : { default_payment_method: card };
  const items = [{ price: price.id }];
  return (await world.stripe.subscriptions.create({ customer, items, ...charged })).id;
}

t.test('a customer with subscriptions of other products stays, with the cards that those need', async (t) => {
  const { owner, customer } = await paying();
  const [usual, own] = [await owner.card(), await owner.card()];
  for (const card of [usual, own]) await world.stripe.paymentMethods.attach(card, { customer });
  await world.stripe.customers.update(customer, { invoice_settings: { default_payment_method: usual } });
  const others = [await otherSubscription(customer), await otherSubscription(customer, own)];
  t.equal(cards(customer), 4);
  await deleteOrganization(owner);
  const told = () => server.wholeLog.split('\n').find((line) => line.includes('stays at Stripe'));
  await until('the customer is left', () => told() !== undefined);
  t.match(JSON.parse(told()!), { customer, organizationId: owner.organizationId, level: 40 });
  t.equal(isDeleted(customer), false);
  const statuses = emulator.world
    .all('subscription')
    .filter((one) => one.customer === customer)
    .map(({ id, status }) => (others.includes(id) ? `other ${status}` : `ours ${status}`));
  t.same(statuses.sort(), ['other active', 'other active', 'ours canceled']);
  const left = emulator.world.all('payment_method').filter((card) => card.customer === customer);
  t.same(left.map(({ id }) => id).sort(), [usual, own].sort());
  t.same(emulator.world.get('customer', customer).metadata, {}, 'nothing says whose it was here');
  await world.restart();
  t.equal(isDeleted(customer), false, 'and it is not looked at again');
});

t.test('while Stripe fails it stays noted, and a killed server goes on after its start', async (t) => {
  const { owner, customer } = await paying();
  const operation = /^(PaymentMethods\.detach|Customers\.del)$/;
  emulator.faults.add({ kind: 'lost-before', operation, times: 10_000 });
  await deleteOrganization(owner);
  await until('the subscription has ended', () => {
    const mine = emulator.world.all('subscription').filter((one) => one.customer === customer);
    return mine.every(({ status }) => status === 'canceled');
  });
  t.equal(isDeleted(customer), false);
  await server.stop('SIGKILL');
  await world.restart();
  t.equal(isDeleted(customer), false, 'Stripe fails still');
  await server.stop('SIGKILL');
  emulator.faults.clear();
  await world.restart();
  await until('the customer is deleted', () => isDeleted(customer));
  t.equal(cards(customer), 0);
});

t.test('the last use is paid before the customer goes', async (t) => {
  const { owner, customer } = await paying();
  const payload = { stripe_customer_id: customer, value: String(20_000_000_000) };
  await world.stripe.billing.meterEvents.create({ event_name: 'quarry_embed_tokens', payload });
  await world.moment();
  await deleteOrganization(owner);
  await until('the last invoice', () => invoices(customer).length === 2);
  await world.moment(3 * 3_600);
  await world.restart();
  await until('the customer is deleted', () => isDeleted(customer));
  const last = invoices(customer).at(-1)!;
  t.match(last, { status: 'paid' });
  t.ok(last.amount_paid > 90_000, `${last.amount_paid} cents were paid for the last use`);
});

const isGivenUp = (customer: string) =>
  server.wholeLog
    .split('\n')
    .some((line) => line.includes(customer) && line.includes('was not deleted at Stripe; will try again'));

t.test('a customer that was deleted by hand is forgotten', async (t) => {
  const { owner, customer } = await paying();
  emulator.faults.add({ kind: 'lost-before', operation: /^Customers\.del$/, times: 10_000 });
  await deleteOrganization(owner);
  // Only then the server makes no further attempt by itself.
  await until('the server gives up', () => isGivenUp(customer));
  t.equal(cards(customer), 0);
  emulator.faults.clear();
  await world.stripe.customers.del(customer);
  await world.restart();
  const told = /"customer":"(cus_\w+)".*is gone at Stripe/g;
  const gone = () => [...server.wholeLog.matchAll(told)].map(([, id]) => id).filter((id) => id === customer);
  await until('it is forgotten', () => gone().length > 0);
  t.equal(gone().length, 1);
});

t.test('Stripe understood every request', async (t) => world.checkUnderstood(t));
