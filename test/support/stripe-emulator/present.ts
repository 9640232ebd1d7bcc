import { type Field, findShape, listOf, type Shape } from './sdk-shapes.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';

/** SDK file and type name of each kind of object. */
const sdkTypes: Readonly<Record<string, readonly [file: string, name: string]>> = {
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

/** Fields returned only if the request names them in `expand`. */
const expandOnlyFields: Readonly<Record<string, readonly string[]>> = {
  coupon: ['applies_to'],
  customer: ['subscriptions', 'sources', 'tax'],
  invoice: ['payments', 'confirmation_secret'],
};

/** Fields stored for every object; a few kinds do not return them. */
const commonFields: readonly string[] = ['id', 'created', 'livemode'];

/** Fields returned as whole objects but stored as ids or in other objects. `fields` names them if they may be hidden. */
const expanders: Readonly<
  Record<
    string,
    {
      readonly fields?: readonly string[];
      readonly expand: (state: StripeState, stripeObject: StripeObject) => Record<string, unknown>;
    }
  >
> = {
  invoice: {
    fields: ['payments', 'confirmation_secret'],
    expand: (state, invoice) => ({
      payments: listOfObjects(
        state.listObjects('invoice_payment').filter((payment) => payment.invoice === invoice.id),
      ),
      confirmation_secret: confirmationSecretOf(state, invoice),
    }),
  },
  customer: {
    fields: ['subscriptions'],
    expand: (state, customer) => ({
      subscriptions: listOfObjects(
        state
          .listObjects('subscription')
          .filter((one) => one.customer === customer.id)
          .map((one) => expandSubscription(state, one)),
      ),
    }),
  },
  subscription: { expand: expandSubscription },
  subscription_item: { expand: expandItem },
};

function expandSubscription(state: StripeState, subscription: StripeObject): StripeObject {
  const { items, pending_update: pending } = subscription;
  const expandedObject = (all: readonly StripeObject[]) => all.map((item) => expandItem(state, item));
  return {
    ...subscription,
    items: { ...items, data: expandedObject(items.data) },
    pending_update:
      pending === null
        ? null
        : { ...pending, subscription_items: expandedObject(pending.subscription_items) },
  };
}

function expandItem(state: StripeState, item: StripeObject): StripeObject {
  const price = state.get('price', item.price);
  return { ...item, plan: planOf(price), price };
}

/** Legacy plan object of a recurring price. */
function planOf(price: StripeObject): StripeObject {
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

function confirmationSecretOf(state: StripeState, invoice: StripeObject) {
  const payment = state.listObjects('invoice_payment').find((one) => one.invoice === invoice.id);
  if (payment === undefined) return null;
  const intent = state.get('payment_intent', payment.payment.payment_intent);
  return { client_secret: intent.client_secret, type: 'payment_intent' };
}

function listOfObjects(data: readonly StripeObject[]): StripeList {
  return { object: 'list', data, has_more: false, url: '/v1/none' };
}

/** Page of a list. */
export interface StripeList {
  readonly object: 'list';
  readonly data: readonly StripeObject[];
  readonly has_more: boolean;
  readonly url: string;
}

/** Reply of a delete: little more than the id. */
export interface DeletedObject {
  readonly id: string;
  readonly object: string;
  readonly deleted: true;
}

/** Reply of an operation before its shape is completed. */
export type StripeReply = StripeObject | StripeList | DeletedObject;

/**
 * Reply in Stripe's format: requested fields expanded, required fields of the SDK's types filled in. A reply that
 * violates the types is a bug of the emulator and throws.
 */
export function present(state: StripeState, answer: StripeReply, expand: readonly string[] = []): unknown {
  if (answer.object === 'list') {
    const { data, ...page } = answer as StripeList;
    const below = expand.filter((path) => path.startsWith('data.')).map((path) => path.slice('data.'.length));
    return { ...page, data: data.map((stripeObject) => present(state, stripeObject, below)) };
  }
  if ((answer as DeletedObject).deleted === true) return answer;
  const stripeObject = answer as StripeObject;
  const [file, name] = sdkTypes[stripeObject.object] ?? [];
  if (file === undefined || name === undefined)
    throw new Error(`the emulator cannot show a ${stripeObject.object}`);
  const hidden = (expandOnlyFields[stripeObject.object] ?? []).filter((field) => !isExpanded(expand, field));
  const shown: Record<string, unknown> = { ...stripeObject, ...expandStored(state, stripeObject, hidden) };
  for (const field of hidden) delete shown[field];
  const completed = completeObject(findShape(`resources/${file}`, name), shown, stripeObject.object);
  return expandFields(state, completed as Record<string, unknown>, expand);
}

/** Fields of `expanders`; none if all of them are hidden. */
function expandStored(state: StripeState, stripeObject: StripeObject, hidden: readonly string[]) {
  const { fields, expand } = expanders[stripeObject.object] ?? {};
  if (fields?.every((field) => hidden.includes(field)) === true) return {};
  return expand?.(state, stripeObject);
}

function isExpanded(expand: readonly string[], field: string): boolean {
  return expand.some((path) => path === field || path.startsWith(`${field}.`));
}

function expandFields(
  state: StripeState,
  stripeObject: Record<string, unknown>,
  paths: readonly string[],
): unknown {
  const found = { ...stripeObject };
  for (const field of new Set(paths.map((path) => path.split('.')[0]!))) {
    const below = paths
      .filter((path) => path.startsWith(`${field}.`))
      .map((path) => path.slice(field.length + 1));
    found[field] = expandValue(state, stripeObject[field], below);
  }
  return found;
}

function expandValue(state: StripeState, value: unknown, below: readonly string[]): unknown {
  if (typeof value === 'string') {
    const stripeObject = state.find(value);
    return stripeObject === null ? value : present(state, stripeObject, below);
  }
  if (Array.isArray(value)) return value.map((one) => expandValue(state, one, below));
  if (typeof value !== 'object' || value === null) return value;
  return below.length === 0 ? value : expandFields(state, value as Record<string, unknown>, below);
}

/** A value that violates the SDK's types. Its path is completed on the way up: most values are right, and need none. */
class ShapeError extends Error {
  readonly path: string[] = [];
}

/** Completes a whole object of the kind `kind`. Throws, with the path of the field, if it violates the shape. */
function completeObject(shape: Shape, value: unknown, kind: string): unknown {
  try {
    return completeShape(shape, value);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new Error(`the emulator's ${kind}${error.path.join('')} ${error.message}`, { cause: error });
  }
}

/** Prefixes the path of an error below the field `step`. */
function atStep(error: unknown, step: string): unknown {
  if (error instanceof ShapeError) error.path.unshift(step);
  return error;
}

/** Returns the value with the missing required fields of its shape added. Throws if the value violates the shape. */
function completeShape(shape: Shape, value: unknown): unknown {
  switch (shape.kind) {
    case 'fields':
      return completeFields(shape.fields, value);
    case 'array':
      if (!Array.isArray(value)) throw shapeMismatch('a list', value);
      return completeElements(shape.of, value);
    case 'map':
      return value;
    case 'union':
      return completeUnion(shape.of, value);
    case 'string':
      if (typeof value !== 'string') throw shapeMismatch('a text', value);
      if (shape.words !== null && !shape.words.includes(value))
        throw shapeMismatch(shape.words.join(' or '), value);
      return value;
    case 'decimal':
      if (typeof value !== 'string') throw shapeMismatch('a decimal', value);
      return value;
    case 'number':
    case 'boolean':
      if (typeof value !== shape.kind) throw shapeMismatch(shape.kind, value);
      return value;
    case 'null':
      if (value !== null) throw shapeMismatch('null', value);
      return value;
    case 'anything':
      return value;
  }
}

function completeElements(of: Shape, values: readonly unknown[]): unknown[] {
  let index = 0;
  try {
    const found: unknown[] = [];
    for (; index < values.length; index += 1) found.push(completeShape(of, values[index]));
    return found;
  } catch (error) {
    throw atStep(error, `[${index}]`);
  }
}

function completeFields(fields: ReadonlyMap<string, Field>, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw shapeMismatch('an object', value);
  const found: Record<string, unknown> = {};
  let current = '';
  try {
    for (const [name, one] of Object.entries(value)) {
      const field = fields.get(name);
      if (field === undefined) {
        if (commonFields.includes(name)) continue;
        throw new ShapeError(`has ${name}, which the SDK's types do not know`);
      }
      current = `.${name}`;
      if (one !== undefined) found[name] = completeShape(field.shape(), one);
      current = '';
    }
    for (const [name, field] of requiredFieldsOf(fields)) {
      if (name in found) continue;
      current = `.${name}`;
      found[name] = emptyValueOf(field.shape());
      current = '';
    }
    return found;
  } catch (error) {
    throw current === '' ? error : atStep(error, current);
  }
}

const requiredFields = new WeakMap<ReadonlyMap<string, Field>, readonly (readonly [string, Field])[]>();

function requiredFieldsOf(fields: ReadonlyMap<string, Field>): readonly (readonly [string, Field])[] {
  const known = requiredFields.get(fields);
  if (known !== undefined) return known;
  const required = [...fields].filter(([, { optional }]) => !optional);
  requiredFields.set(fields, required);
  return required;
}

function completeUnion(of: readonly Shape[], value: unknown): unknown {
  let errorOfFields: unknown = null;
  for (const shape of of) {
    // Errors are costly, so kinds that cannot have the value are not tried.
    if (!canHave(shape, value)) continue;
    try {
      return completeShape(shape, value);
    } catch (error) {
      if (shape.kind === 'fields') errorOfFields = error;
    }
  }
  throw errorOfFields ?? shapeMismatch('one of its kinds', value);
}

/** Whether a value of this JavaScript type may belong to the shape; fields and elements are not looked at. */
function canHave(shape: Shape, value: unknown): boolean {
  switch (shape.kind) {
    case 'fields':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'array':
      return Array.isArray(value);
    case 'string':
      return typeof value === 'string' && (shape.words?.includes(value) ?? true);
    case 'decimal':
      return typeof value === 'string';
    case 'number':
    case 'boolean':
      return typeof value === shape.kind;
    case 'null':
      return value === null;
    case 'map':
    case 'union':
    case 'anything':
      return true;
  }
}

/** Values of missing fields by shape. No reader changes them. */
const emptyValues = new WeakMap<Shape, unknown>();

/** Value of a missing required field: null if allowed, otherwise the empty value of its kind. */
function emptyValueOf(shape: Shape): unknown {
  const known = emptyValues.get(shape);
  if (known !== undefined) return known;
  const value = createEmptyValue(shape);
  emptyValues.set(shape, value);
  return value;
}

function createEmptyValue(shape: Shape): unknown {
  switch (shape.kind) {
    case 'union':
      return shape.of.some(({ kind }) => kind === 'null') ? null : emptyValueOf(shape.of[0]!);
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
      return completeFields(shape.fields, isList(shape) ? emptyList : {});
    default:
      throw new ShapeError('is missing');
  }
}

const emptyList: StripeList = { object: 'list', data: [], has_more: false, url: '/v1/none' };

function isList({ fields }: { readonly fields: ReadonlyMap<string, Field> }): boolean {
  const names = [...(listOf({ kind: 'null' }) as { fields: ReadonlyMap<string, Field> }).fields.keys()];
  return fields.size === names.length && names.every((name) => fields.has(name));
}

function shapeMismatch(expected: string, value: unknown): Error {
  return new ShapeError(`should be ${expected}: ${JSON.stringify(value)?.slice(0, 200)}`);
}
