import { changeBalance } from './credits.ts';
import type { StripeParameters } from './parameters.ts';
import { missingObjectError, StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import { endSubscription } from './subscription-lifecycle.ts';

const simpleFields = [
  'description',
  'email',
  'name',
  'phone',
  'address',
  'shipping',
  'tax_exempt',
  'preferred_locales',
];

function applySettings(customer: StripeObject, parameters: StripeParameters): void {
  Object.assign(customer, pickParameters(parameters, simpleFields));
  customer.metadata = mergeMetadata(customer.metadata, parameters.metadata);
  const settings = parameters.invoice_settings;
  if (settings?.default_payment_method !== undefined)
    customer.invoice_settings.default_payment_method = settings.default_payment_method || null;
}

/** Customer with this id that is not deleted. */
export function customerOf(state: StripeState, id: string): StripeObject {
  const customer = state.get('customer', id);
  if (customer.deleted === true) throw missingObjectError('customer', id);
  return customer;
}

/** Stripe accepts only addresses whose host name contains a dot. */
function checkEmailAddress(email: unknown): void {
  if (typeof email !== 'string' || /^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$/.test(email)) return;
  throw new StripeApiError(`Invalid email address: ${email}`, { code: 'email_invalid', param: 'email' });
}

function create({ state, parameters }: StripeRequest): StripeObject {
  checkEmailAddress(parameters.email);
  const id = state.nextId('cus');
  const customer = state.add({
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
  applySettings(customer, parameters);
  if (typeof parameters.payment_method === 'string')
    state.get('payment_method', parameters.payment_method).customer = customer.id;
  state.recordEvent('customer.created', customer);
  return customer;
}

function update({ state, ids, parameters }: StripeRequest): StripeObject {
  const customer = customerOf(state, ids[0]!);
  checkEmailAddress(parameters.email);
  applySettings(customer, parameters);
  state.recordEvent('customer.updated', customer);
  return customer;
}

function remove({ state, ids }: StripeRequest) {
  const customer = customerOf(state, ids[0]!);
  for (const subscription of state.listObjects('subscription'))
    if (subscription.customer === customer.id) endSubscription(state, subscription, 'cancellation_requested');
  state.recordEvent('customer.deleted', customer);
  customer.deleted = true;
  return { id: customer.id, object: 'customer', deleted: true } as const;
}

function retrieve({ state, ids }: StripeRequest) {
  const customer = state.get('customer', ids[0]!);
  if (customer.deleted === true) return { id: customer.id, object: 'customer', deleted: true } as const;
  return customer;
}

function list(call: StripeRequest) {
  const { email } = call.parameters;
  const found = call.state
    .listObjects('customer')
    .filter((customer) => customer.deleted !== true && (email === undefined || customer.email === email));
  return pageOfObjects(call, found, '/v1/customers');
}

/** `metadata['name']:'value'`, single or joined by AND. Stripe's index is eventually consistent; this one is immediate. */
function search({ state, parameters }: StripeRequest) {
  const conditions = [...String(parameters.query).matchAll(/metadata\[['"](.+?)['"]\]:['"](.*?)['"]/g)];
  const data = state
    .listObjects('customer')
    .filter((customer) => customer.deleted !== true)
    .filter((customer) => conditions.every(([, name, value]) => customer.metadata[name!] === value));
  return { object: 'list', data, has_more: false, url: '/v1/customers/search' } as const;
}

function createBalanceTransaction({ state, ids, parameters }: StripeRequest): StripeObject {
  const { amount, currency, description, metadata } = parameters;
  return changeBalance(state, customerOf(state, ids[0]!), {
    type: 'adjustment',
    amount,
    currency,
    description: description ?? null,
    metadata: mergeMetadata({}, metadata),
  });
}

function balanceTransactions({ state, ids }: StripeRequest): StripeObject[] {
  const customer = state.get('customer', ids[0]!);
  return state.listObjects('customer_balance_transaction').filter((one) => one.customer === customer.id);
}

export const customerHandlers: Handlers = {
  'Customers.create': create,
  'Customers.update': update,
  'Customers.del': remove,
  'Customers.retrieve': retrieve,
  'Customers.list': list,
  'Customers.search': search,
  'Customers.createBalanceTransaction': createBalanceTransaction,
  'Customers.listBalanceTransactions': (call) =>
    pageOfObjects(call, balanceTransactions(call), `/v1/customers/${call.ids[0]}/balance_transactions`),
  'Customers.retrieveBalanceTransaction': ({ state, ids }) =>
    state.get('customer_balance_transaction', ids[1]!),
};
