import { type Field, listOf, type Shape, shapeNamed } from './sdk-shapes.ts';
import type { Thing, World } from './world.ts';

/** Where the SDK declares each kind of object. */
const types: Readonly<Record<string, readonly [file: string, name: string]>> = {
  'billing.credit_balance_summary': ['Billing/CreditBalanceSummary', 'CreditBalanceSummary'],
  'billing.credit_balance_transaction': ['Billing/CreditBalanceTransactions', 'CreditBalanceTransaction'],
  'billing.credit_grant': ['Billing/CreditGrants', 'CreditGrant'],
  'billing.meter': ['Billing/Meters', 'Meter'],
  'billing.meter_event': ['Billing/MeterEvents', 'MeterEvent'],
  'billing.meter_event_summary': ['Billing/MeterEventSummaries', 'MeterEventSummary'],
  'billing_portal.configuration': ['BillingPortal/Configurations', 'Configuration'],
  'billing_portal.session': ['BillingPortal/Sessions', 'Session'],
  'checkout.session': ['Checkout/Sessions', 'Session'],
  'test_helpers.test_clock': ['TestHelpers/TestClocks', 'TestClock'],
  coupon: ['Coupons', 'Coupon'],
  customer: ['Customers', 'Customer'],
  customer_balance_transaction: ['CustomerBalanceTransactions', 'CustomerBalanceTransaction'],
  event: ['Events', 'EventBase'],
  invoice: ['Invoices', 'Invoice'],
  invoice_payment: ['InvoicePayments', 'InvoicePayment'],
  invoiceitem: ['InvoiceItems', 'InvoiceItem'],
  line_item: ['InvoiceLineItems', 'InvoiceLineItem'],
  payment_intent: ['PaymentIntents', 'PaymentIntent'],
  payment_method: ['PaymentMethods', 'PaymentMethod'],
  price: ['Prices', 'Price'],
  product: ['Products', 'Product'],
  promotion_code: ['PromotionCodes', 'PromotionCode'],
  setup_intent: ['SetupIntents', 'SetupIntent'],
  subscription: ['Subscriptions', 'Subscription'],
  subscription_item: ['SubscriptionItems', 'SubscriptionItem'],
  subscription_schedule: ['SubscriptionSchedules', 'SubscriptionSchedule'],
  webhook_endpoint: ['WebhookEndpoints', 'WebhookEndpoint'],
};

/** What is only answered to those who ask for it by `expand`. */
const onRequest: Readonly<Record<string, readonly string[]>> = {
  coupon: ['applies_to'],
  customer: ['subscriptions', 'sources', 'tax'],
  invoice: ['payments', 'confirmation_secret'],
};

/** What the emulator keeps of everything; a few kinds do not show it. */
const everyThing: readonly string[] = ['id', 'created', 'livemode'];

/** What stands in an answer whole though it is kept as an id, or is kept elsewhere. */
const dress: Readonly<Record<string, (world: World, thing: Thing) => Record<string, unknown>>> = {
  invoice: (world, invoice) => ({
    payments: pageOf(world.all('invoice_payment').filter((payment) => payment.invoice === invoice.id)),
    confirmation_secret: confirmationOf(world, invoice),
  }),
  customer: (world, customer) => ({
    subscriptions: pageOf(
      world
        .all('subscription')
        .filter((one) => one.customer === customer.id)
        .map((one) => dressedSubscription(world, one)),
    ),
  }),
  subscription: dressedSubscription,
  subscription_item: dressedItem,
};

function dressedSubscription(world: World, subscription: Thing): Thing {
  const { items, pending_update: pending } = subscription;
  const dressed = (all: readonly Thing[]) => all.map((item) => dressedItem(world, item));
  return {
    ...subscription,
    items: { ...items, data: dressed(items.data) },
    pending_update:
      pending === null ? null : { ...pending, subscription_items: dressed(pending.subscription_items) },
  };
}

function dressedItem(world: World, item: Thing): Thing {
  const price = world.get('price', item.price);
  return { ...item, plan: planOf(price), price };
}

/** What a recurring price was called before there were prices. */
function planOf(price: Thing): Thing {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: 'per_unit',
    created: price.created,
    currency: price.currency,
    interval: price.recurring.interval,
    interval_count: price.recurring.interval_count,
    livemode: false,
    metadata: price.metadata,
    meter: price.recurring.meter,
    product: price.product,
    usage_type: price.recurring.usage_type,
  };
}

function confirmationOf(world: World, invoice: Thing) {
  const payment = world.all('invoice_payment').find((one) => one.invoice === invoice.id);
  if (payment === undefined) return null;
  const intent = world.get('payment_intent', payment.payment.payment_intent);
  return { client_secret: intent.client_secret, type: 'payment_intent' };
}

function pageOf(data: readonly Thing[]): Page {
  return { object: 'list', data, has_more: false, url: '/v1/none' };
}

/** One page of a list. */
export interface Page {
  readonly object: 'list';
  readonly data: readonly Thing[];
  readonly has_more: boolean;
  readonly url: string;
}

/** A thing that was deleted is answered as little more than its id. */
export interface Deleted {
  readonly id: string;
  readonly object: string;
  readonly deleted: true;
}

/** What operations answer. */
export type Answer = Thing | Page | Deleted;

/**
 * An answer as Stripe gives it: what was asked for expanded, and every field that the SDK's types promise filled in. An
 * answer that they do not allow is a fault of the emulator, and said so.
 */
export function presented(world: World, answer: Answer, expand: readonly string[] = []): unknown {
  if (answer.object === 'list') {
    const { data, ...page } = answer as Page;
    const below = expand.filter((path) => path.startsWith('data.')).map((path) => path.slice('data.'.length));
    return { ...page, data: data.map((thing) => presented(world, thing, below)) };
  }
  if ((answer as Deleted).deleted === true) return answer;
  const thing = answer as Thing;
  const [file, name] = types[thing.object] ?? [];
  if (file === undefined || name === undefined) throw new Error(`the emulator cannot show a ${thing.object}`);
  const hidden = (onRequest[thing.object] ?? []).filter((field) => !asked(expand, field));
  const dressed = { ...thing, ...dress[thing.object]?.(world, thing) };
  const shown = Object.fromEntries(Object.entries(dressed).filter(([field]) => !hidden.includes(field)));
  const completed = completedAs(shapeNamed(`resources/${file}`, name), shown, thing.object);
  return expanded(world, completed as Record<string, unknown>, expand);
}

function asked(expand: readonly string[], field: string): boolean {
  return expand.some((path) => path === field || path.startsWith(`${field}.`));
}

function expanded(world: World, thing: Record<string, unknown>, paths: readonly string[]): unknown {
  const found = { ...thing };
  for (const field of new Set(paths.map((path) => path.split('.')[0]!))) {
    const below = paths
      .filter((path) => path.startsWith(`${field}.`))
      .map((path) => path.slice(field.length + 1));
    found[field] = expandedValue(world, thing[field], below);
  }
  return found;
}

function expandedValue(world: World, value: unknown, below: readonly string[]): unknown {
  if (typeof value === 'string') {
    const thing = world.find(value);
    return thing === null ? value : presented(world, thing, below);
  }
  if (Array.isArray(value)) return value.map((one) => expandedValue(world, one, below));
  if (typeof value !== 'object' || value === null) return value;
  return below.length === 0 ? value : expanded(world, value as Record<string, unknown>, below);
}

/** The value with what the shape promises beyond it. */
function completedAs(shape: Shape, value: unknown, at: string): unknown {
  switch (shape.kind) {
    case 'fields':
      return completedFields(shape.fields, value, at);
    case 'array':
      if (!Array.isArray(value)) throw unlike(at, 'a list', value);
      return value.map((one, index) => completedAs(shape.of, one, `${at}[${index}]`));
    case 'map':
      return value;
    case 'union':
      return completedUnion(shape.of, value, at);
    case 'string':
      if (typeof value !== 'string') throw unlike(at, 'a text', value);
      if (shape.words !== null && !shape.words.includes(value))
        throw unlike(at, shape.words.join(' or '), value);
      return value;
    case 'decimal':
      if (typeof value !== 'string') throw unlike(at, 'a decimal', value);
      return value;
    case 'number':
    case 'boolean':
      if (typeof value !== shape.kind) throw unlike(at, shape.kind, value);
      return value;
    case 'null':
      if (value !== null) throw unlike(at, 'null', value);
      return value;
    case 'anything':
      return value;
  }
}

function completedFields(fields: ReadonlyMap<string, Field>, value: unknown, at: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unlike(at, 'an object', value);
  const found: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) {
    const field = fields.get(name);
    if (field === undefined) {
      if (everyThing.includes(name)) continue;
      throw new Error(`the emulator's ${at} has ${name}, which the SDK's types do not know`);
    }
    if (one !== undefined) found[name] = completedAs(field.shape(), one, `${at}.${name}`);
  }
  for (const [name, field] of fields) {
    if (!(name in found) && !field.optional) found[name] = nothingOf(field.shape(), `${at}.${name}`);
  }
  return found;
}

function completedUnion(of: readonly Shape[], value: unknown, at: string): unknown {
  let refused: unknown = unlike(at, 'one of its kinds', value);
  for (const shape of of) {
    try {
      return completedAs(shape, value, at);
    } catch (error) {
      if (shape.kind === 'fields' || refused === undefined) refused = error;
    }
  }
  throw refused;
}

/** What stands where nothing is: null where that is allowed, otherwise the least of its kind. */
function nothingOf(shape: Shape, at: string): unknown {
  switch (shape.kind) {
    case 'union':
      return shape.of.some(({ kind }) => kind === 'null') ? null : nothingOf(shape.of[0]!, at);
    case 'array':
      return [];
    case 'map':
      return {};
    case 'boolean':
      return false;
    case 'number':
      return 0;
    case 'null':
    case 'anything':
      return null;
    case 'fields':
      return completedFields(shape.fields, isList(shape) ? emptyList : {}, at);
    default:
      throw new Error(`the emulator's ${at} is missing`);
  }
}

const emptyList: Page = { object: 'list', data: [], has_more: false, url: '/v1/none' };

function isList({ fields }: { readonly fields: ReadonlyMap<string, Field> }): boolean {
  const names = [...(listOf({ kind: 'null' }) as { fields: ReadonlyMap<string, Field> }).fields.keys()];
  return fields.size === names.length && names.every((name) => fields.has(name));
}

function unlike(at: string, expected: string, value: unknown): Error {
  return new Error(`the emulator's ${at} should be ${expected}: ${JSON.stringify(value)?.slice(0, 200)}`);
}
