import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { changeBalance } from './credits.ts';
import type { Parameters } from './parameters.ts';
import { missing, Refusal } from './refusal.ts';
import { end } from './subscription-life.ts';
import type { Thing, World } from './world.ts';

const plain = [
  'description',
  'email',
  'name',
  'phone',
  'address',
  'shipping',
  'tax_exempt',
  'preferred_locales',
];

function apply(customer: Thing, parameters: Parameters): void {
  Object.assign(customer, given(parameters, plain));
  customer.metadata = mergedMetadata(customer.metadata, parameters.metadata);
  const settings = parameters.invoice_settings;
  if (settings?.default_payment_method !== undefined)
    customer.invoice_settings.default_payment_method = settings.default_payment_method || null;
}

/** A customer that was not deleted. */
export function customerOf(world: World, id: string): Thing {
  const customer = world.get('customer', id);
  if (customer.deleted === true) throw missing('customer', id);
  return customer;
}

/** Stripe takes only addresses of a host whose name has a dot in it. */
function refuseNoAddress(email: unknown): void {
  if (typeof email !== 'string' || /^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$/.test(email)) return;
  throw new Refusal(`Invalid email address: ${email}`, { code: 'email_invalid', param: 'email' });
}

function create({ world, parameters }: Call): Thing {
  refuseNoAddress(parameters.email);
  const id = world.id('cus');
  const customer = world.add({
    id,
    object: 'customer',
    balance: parameters.balance ?? 0,
    currency: null,
    default_source: null,
    description: null,
    email: null,
    invoice_prefix: id.slice(4, 12).toUpperCase(),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    metadata: {},
    name: null,
    next_invoice_sequence: 1,
    phone: null,
    shipping: null,
    test_clock: parameters.test_clock ?? null,
  });
  apply(customer, parameters);
  if (typeof parameters.payment_method === 'string')
    world.get('payment_method', parameters.payment_method).customer = customer.id;
  world.happens('customer.created', customer);
  return customer;
}

function update({ world, ids, parameters }: Call): Thing {
  const customer = customerOf(world, ids[0]!);
  refuseNoAddress(parameters.email);
  apply(customer, parameters);
  world.happens('customer.updated', customer);
  return customer;
}

function remove({ world, ids }: Call) {
  const customer = customerOf(world, ids[0]!);
  for (const subscription of world.all('subscription'))
    if (subscription.customer === customer.id) end(world, subscription, 'cancellation_requested');
  world.happens('customer.deleted', customer);
  customer.deleted = true;
  return { id: customer.id, object: 'customer', deleted: true } as const;
}

function retrieve({ world, ids }: Call) {
  const customer = world.get('customer', ids[0]!);
  if (customer.deleted === true) return { id: customer.id, object: 'customer', deleted: true } as const;
  return customer;
}

function list(call: Call) {
  const { email } = call.parameters;
  const found = call.world
    .all('customer')
    .filter((customer) => customer.deleted !== true && (email === undefined || customer.email === email));
  return pageOf(call, found, '/v1/customers');
}

/** `metadata['name']:'value'`, alone or joined by AND; Stripe finds new objects only after some time, this at once. */
function search({ world, parameters }: Call) {
  const wanted = [...String(parameters.query).matchAll(/metadata\[['"](.+?)['"]\]:['"](.*?)['"]/g)];
  const data = world
    .all('customer')
    .filter((customer) => customer.deleted !== true)
    .filter((customer) => wanted.every(([, name, value]) => customer.metadata[name!] === value));
  return { object: 'list', data, has_more: false, url: '/v1/customers/search' } as const;
}

function createBalanceTransaction({ world, ids, parameters }: Call): Thing {
  const { amount, currency, description, metadata } = parameters;
  return changeBalance(world, customerOf(world, ids[0]!), {
    type: 'adjustment',
    amount,
    currency,
    description: description ?? null,
    metadata: mergedMetadata({}, metadata),
  });
}

function balanceTransactions({ world, ids }: Call): Thing[] {
  const customer = world.get('customer', ids[0]!);
  return world.all('customer_balance_transaction').filter((one) => one.customer === customer.id);
}

export const customers: Handlers = {
  'Customers.create': create,
  'Customers.update': update,
  'Customers.del': remove,
  'Customers.retrieve': retrieve,
  'Customers.list': list,
  'Customers.search': search,
  'Customers.createBalanceTransaction': createBalanceTransaction,
  'Customers.listBalanceTransactions': (call) =>
    pageOf(call, balanceTransactions(call), `/v1/customers/${call.ids[0]}/balance_transactions`),
  'Customers.retrieveBalanceTransaction': ({ world, ids }) =>
    world.get('customer_balance_transaction', ids[1]!),
};
