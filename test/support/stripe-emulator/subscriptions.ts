import { nextDayOfMonth } from './calendar.ts';
import { customerCard } from './cards.ts';
import { checkCurrency } from './credits.ts';
import { customerOf } from './customers.ts';
import { draftInvoice, finalizeInvoice, type InvoiceLineDraft } from './invoicing.ts';
import { defaultMethod, paymentErrorOf } from './payments.ts';
import { StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import {
  addPendingLines,
  collectAndUpdate,
  computeItemChanges,
  createSubscriptionItem,
  discardPendingUpdate,
  endSubscription,
  expireFirstPayment,
  finalizeAndCollect,
  itemsOf,
  nextBoundary,
  paymentSecondsMax,
  periodOf,
  priceOf,
  proratedLine,
  remainderLines,
  resumeSubscription,
  setPeriod,
  usageLines,
} from './subscription-lifecycle.ts';

/** Parameters of Stripe that the emulator does not support; a request with one of them fails. */
const unsupported = [
  ...[
    'add_invoice_items',
    'application_fee_percent',
    'automatic_tax',
    'backdate_start_date',
    'billing_schedules',
  ],
  ...[
    'billing_thresholds',
    'days_until_due',
    'default_source',
    'discounts',
    'on_behalf_of',
    'pending_invoice_item_interval',
  ],
  ...['transfer_data', 'trial_end', 'trial_from_plan', 'trial_period_days', 'pause_collection'],
];

/** Parameters allowed together with `pending_if_incomplete`. */
const pendingUpdateParameters = [
  ...['items', 'proration_behavior', 'proration_date', 'payment_behavior', 'billing_cycle_anchor', 'expand'],
  ...['metadata', 'discounts', 'cancel_at_period_end', 'trial_end', 'trial_from_plan', 'add_invoice_items'],
];

function checkSupported(parameters: StripeRequest['parameters']): void {
  const found = unsupported.find((name) => parameters[name] !== undefined && parameters[name] !== '');
  if (found !== undefined)
    throw new StripeApiError(`The emulator does not know the parameter ${found}.`, { param: found });
  if (parameters.collection_method === 'send_invoice')
    throw new StripeApiError('The emulator sends no invoices.');
}

function create({ state, parameters }: StripeRequest): StripeObject {
  checkSupported(parameters);
  if (parameters.payment_behavior === 'pending_if_incomplete')
    throw new StripeApiError('`pending_if_incomplete` can only be used when updating a subscription.', {
      param: 'payment_behavior',
    });
  const customer = customerOf(state, parameters.customer);
  const id = state.nextId('sub');
  const anchor = anchorOf(state, parameters);
  const period = {
    start: state.now,
    end: anchor > state.now ? anchor : nextBoundary(emptySubscription(id, anchor, parameters), state.now),
  };
  const items = (parameters.items ?? []).map((item: { price: string }) =>
    createSubscriptionItem(state, { id }, item, period),
  ) as StripeObject[];
  if (items.length === 0)
    throw new StripeApiError('Missing required param: items.', { code: 'parameter_missing', param: 'items' });
  const currency = checkItems(state, items);
  checkCurrency(customer, currency);
  const method = parameters.default_payment_method;
  const subscription = {
    ...emptySubscription(id, anchor, parameters),
    currency,
    customer: customer.id,
    default_payment_method: method === undefined ? null : customerCard(state, method, customer).id,
    description: parameters.description ?? null,
    items: { object: 'list', data: items, has_more: false, url: `/v1/subscription_items?subscription=${id}` },
    metadata: mergeMetadata({}, parameters.metadata),
    start_date: state.now,
  };
  if (parameters.payment_behavior === 'error_if_incomplete')
    checkFirstPayment(state, customer, subscription.default_payment_method);
  const added = state.add(subscription);
  state.recordEvent('customer.subscription.created', added);
  firstInvoice(state, added, parameters);
  return added;
}

function emptySubscription(id: string, anchor: number, parameters: StripeRequest['parameters']) {
  const config = parameters.billing_cycle_anchor_config;
  return {
    id,
    object: 'subscription',
    application: null,
    automatic_tax: { disabled_reason: null, enabled: false, liability: null },
    billing_cycle_anchor: anchor,
    billing_cycle_anchor_config:
      config === undefined ? null : { hour: null, minute: null, month: null, second: null, ...config },
    billing_mode: { flexible: null, type: parameters.billing_mode?.type ?? 'flexible' },
    cancel_at: parameters.cancel_at ?? null,
    cancel_at_period_end: parameters.cancel_at_period_end ?? false,
    canceled_at: null,
    cancellation_details: { comment: null, feedback: null, reason: null },
    collection_method: 'charge_automatically',
    discounts: [],
    ended_at: null,
    invoice_settings: { account_tax_ids: null, issuer: { type: 'self' } },
    latest_invoice: null,
    payment_settings: {
      payment_method_options: null,
      payment_method_types: null,
      save_default_payment_method: 'off',
      ...parameters.payment_settings,
    },
    pending_update: null,
    schedule: null,
    status: 'incomplete',
    test_clock: null,
    trial_settings: { end_behavior: { missing_payment_method: 'create_invoice' } },
  };
}

function anchorOf(state: StripeState, parameters: StripeRequest['parameters']): number {
  const config = parameters.billing_cycle_anchor_config;
  if (config === undefined)
    return typeof parameters.billing_cycle_anchor === 'number' ? parameters.billing_cycle_anchor : state.now;
  if (config.day_of_month < 1 || config.day_of_month > 31)
    throw new StripeApiError('Invalid day_of_month: must be between 1 and 31.');
  const date = new Date(state.now * 1_000);
  const { hour = date.getUTCHours(), minute = date.getUTCMinutes(), second = date.getUTCSeconds() } = config;
  return nextDayOfMonth(state.now, config.day_of_month, hour * 3_600 + minute * 60 + second);
}

/** Checks for one currency, one interval and no repeated price; returns the currency. */
function checkItems(state: StripeState, items: readonly StripeObject[]): string {
  const prices = items.map((item) => priceOf(state, item));
  const [first] = prices;
  for (const price of prices) {
    if (price.recurring === null)
      throw new StripeApiError(
        'The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`.',
      );
    if (price.recurring.interval !== 'month' || price.recurring.interval_count !== 1)
      throw new StripeApiError('The emulator bills monthly only.');
    if (!price.active)
      throw new StripeApiError(`The price specified is inactive. This field only accepts active prices.`);
    if (price.currency !== first!.currency)
      throw new StripeApiError('All prices on a subscription must have the same `currency` field.');
  }
  if (new Set(prices.map(({ id }) => id)).size < prices.length)
    throw new StripeApiError('Cannot add multiple subscription items with the same price.');
  return first!.currency;
}

function checkFirstPayment(state: StripeState, customer: StripeObject, method: string | null): void {
  const card = method ?? customer.invoice_settings.default_payment_method;
  const behavior = card === null ? null : state.cards.get(card);
  if (behavior === null) throw paymentErrorOf('no-method');
  if (behavior === 'declines') throw paymentErrorOf('declined');
  if (behavior !== 'pays')
    throw new StripeApiError(
      'Subscription creation failed because the payment requires additional user action.',
      {
        status: 402,
        type: 'card_error',
        code: 'subscription_payment_intent_requires_action',
      },
    );
}

function firstInvoice(
  state: StripeState,
  subscription: StripeObject,
  parameters: StripeRequest['parameters'],
): void {
  const { start, end: until } = periodOf(subscription);
  const free = parameters.proration_behavior === 'none' && subscription.billing_cycle_anchor > state.now;
  const lines = free
    ? []
    : itemsOf(subscription)
        .map((item) => proratedLine(state, subscription, item, { from: start, end: until, sign: 1 }))
        .filter((line) => line !== null);
  const invoice = draftInvoice(state, {
    customer: state.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_create',
    currency: subscription.currency,
    period: { start, end: start },
    lines,
    autoAdvance: false,
  });
  finalizeInvoice(state, invoice);
  const isPaymentPending =
    parameters.payment_behavior === 'default_incomplete' && invoice.amount_remaining > 0;
  if (!isPaymentPending) collectAndUpdate(state, invoice);
}

function update({ state, ids, parameters }: StripeRequest): StripeObject {
  checkSupported(parameters);
  const subscription = state.get('subscription', ids[0]!);
  checkStateAllows(subscription, parameters);
  const customer = state.get('customer', subscription.customer);
  if (parameters.default_payment_method !== undefined) {
    const method = parameters.default_payment_method;
    subscription.default_payment_method = method === '' ? null : customerCard(state, method, customer).id;
  }
  const before = { metadata: subscription.metadata };
  subscription.metadata = mergeMetadata(subscription.metadata, parameters.metadata);
  Object.assign(
    subscription,
    pickParameters(parameters, ['cancel_at_period_end', 'description', 'cancel_at']),
  );
  if (parameters.cancel_at_period_end !== undefined) {
    const { cancel_at_period_end: atEnd } = parameters;
    subscription.cancel_at = atEnd ? periodOf(subscription).end : null;
    subscription.canceled_at = atEnd ? state.now : null;
  }
  if (parameters.payment_settings !== undefined)
    Object.assign(subscription.payment_settings, parameters.payment_settings);
  if (parameters.items !== undefined) changeItems(state, subscription, parameters);
  state.recordEvent('customer.subscription.updated', subscription, before);
  return subscription;
}

function checkStateAllows(subscription: StripeObject, parameters: StripeRequest['parameters']): void {
  const named = Object.keys(parameters).filter((name) => name !== 'expand');
  if (subscription.status === 'canceled' || subscription.status === 'incomplete_expired') {
    if (named.some((name) => name !== 'metadata' && name !== 'cancellation_details'))
      throw new StripeApiError(
        'A canceled subscription can only update its cancellation_details and metadata.',
        {
          code: 'resource_missing',
        },
      );
  }
  if (parameters.payment_behavior === 'pending_if_incomplete') {
    const wrong = named.find((name) => !pendingUpdateParameters.includes(name));
    if (wrong !== undefined)
      throw new StripeApiError(
        `Your update includes parameters which are not supported with \`pending_if_incomplete\`: ${wrong}.`,
        { param: wrong },
      );
  }
  const cancels = ['cancel_at', 'cancel_at_period_end'].some((name) => parameters[name] !== undefined);
  if (subscription.schedule !== null && (cancels || parameters.items !== undefined)) {
    const what = cancels ? 'updating any cancelation behavior' : 'updating its items';
    throw new StripeApiError(
      `The subscription is managed by the subscription schedule \`${subscription.schedule}\`, and ${what} directly is not allowed. Please update the schedule instead.`,
    );
  }
  if (parameters.items === undefined) return;
  if (subscription.status === 'incomplete')
    throw new StripeApiError(
      'You cannot update the items of a subscription whose first payment is incomplete.',
    );
  if (subscription.status === 'paused')
    throw new StripeApiError('You cannot update the items of a paused subscription. Resume it first.');
}

function changeItems(
  state: StripeState,
  subscription: StripeObject,
  parameters: StripeRequest['parameters'],
): void {
  const period = periodOf(subscription);
  const from = parameters.proration_date ?? state.now;
  if (from < period.start || from > period.end)
    throw new StripeApiError(
      'Invalid proration_date: it must be within the current period of the subscription.',
      {
        param: 'proration_date',
      },
    );
  for (const { id } of parameters.items)
    if (id !== undefined && !itemsOf(subscription).some((item) => item.id === id))
      throw new StripeApiError(`Invalid subscription_item id: ${id}`, {
        status: 404,
        code: 'resource_missing',
        param: 'items',
      });
  const { items, lines } = computeItemChanges(state, subscription, parameters.items, from);
  if (checkItems(state, items) !== subscription.currency)
    throw new StripeApiError(
      `The price specified supports a currency that is not the subscription's: ${subscription.currency}.`,
    );
  discardPendingUpdate(state, subscription);
  const behavior = parameters.proration_behavior ?? 'create_prorations';
  if (behavior !== 'always_invoice' || lines.length === 0) {
    subscription.items.data = items;
    if (behavior === 'create_prorations') addPendingLines(state, subscription, lines);
    return;
  }
  invoiceItemChange(state, subscription, { items, lines }, parameters.payment_behavior ?? 'allow_incomplete');
}

function invoiceItemChange(
  state: StripeState,
  subscription: StripeObject,
  change: { readonly items: StripeObject[]; readonly lines: readonly InvoiceLineDraft[] },
  behavior: string,
): void {
  const customer = state.get('customer', subscription.customer);
  if (behavior === 'error_if_incomplete')
    checkFirstPayment(state, customer, subscription.default_payment_method);
  const period = periodOf(subscription);
  if (behavior === 'pending_if_incomplete') {
    subscription.pending_update = {
      billing_cycle_anchor: null,
      expires_at: Math.min(state.now + paymentSecondsMax, period.end),
      subscription_items: change.items,
      trial_end: null,
      trial_from_plan: null,
    };
  } else {
    subscription.items.data = change.items;
  }
  addPendingLines(state, subscription, change.lines);
  const invoice = draftInvoice(state, {
    customer,
    subscription,
    reason: 'subscription_update',
    currency: subscription.currency,
    period: { start: period.start, end: state.now },
    lines: [],
    autoAdvance: false,
  });
  if (behavior !== 'default_incomplete')
    finalizeAndCollect(state, invoice, { method: defaultMethod(state, invoice) });
  else finalizeInvoice(state, invoice);
}

function cancel({ state, ids, parameters }: StripeRequest): StripeObject {
  const subscription = state.get('subscription', ids[0]!);
  if (['canceled', 'incomplete_expired'].includes(subscription.status))
    throw new StripeApiError(`No such subscription: '${ids[0]}'`, { status: 404, code: 'resource_missing' });
  if (parameters.prorate === true) {
    const { end: until } = periodOf(subscription);
    const credit = itemsOf(subscription)
      .map((item) => proratedLine(state, subscription, item, { from: state.now, end: until, sign: -1 }))
      .filter((line) => line !== null);
    addPendingLines(state, subscription, credit);
  }
  const schedule =
    subscription.schedule === null ? null : state.get('subscription_schedule', subscription.schedule);
  if (schedule !== null) {
    schedule.status = 'canceled';
    schedule.canceled_at = state.now;
    subscription.schedule = null;
    state.recordEvent('subscription_schedule.canceled', schedule);
  }
  if (subscription.status === 'incomplete') expireFirstPayment(state, subscription);
  else endSubscription(state, subscription, 'cancellation_requested');
  return subscription;
}

function pause({ state, ids, parameters }: StripeRequest): StripeObject {
  const subscription = state.get('subscription', ids[0]!);
  if (subscription.billing_mode.type !== 'flexible')
    throw new StripeApiError('You can only pause subscriptions with billing_mode flexible.');
  if (subscription.schedule !== null)
    throw new StripeApiError('You cannot pause a subscription with an attached schedule.');
  if (subscription.status !== 'active' && subscription.status !== 'past_due')
    throw new StripeApiError(`You cannot pause a subscription with status ${subscription.status}.`);
  discardPendingUpdate(state, subscription);
  const now = state.now;
  const { end: until, start } = periodOf(subscription);
  const unused = parameters.bill_for?.unused_time_from?.type ?? 'now';
  const from = unused === 'item_current_period_start' ? start : now;
  const credit = unused === 'none' ? [] : creditLines(state, subscription, { from, end: until });
  const usage =
    parameters.bill_for?.outstanding_usage_through?.type === 'none'
      ? []
      : usageLines(state, subscription, now);
  addPendingLines(state, subscription, [...credit, ...usage.filter(({ amount }) => amount !== 0)]);
  setPeriod(subscription, { start, end: now });
  subscription.status = 'paused';
  const paused = { subscription: { type: 'pause_requested' }, transitioned_at: now, type: 'subscription' };
  subscription.status_details = { paused };
  if (parameters.invoicing_behavior === 'invoice')
    finalizeAndCollect(state, manualInvoice(state, subscription));
  state.recordEvent('customer.subscription.paused', subscription);
  state.recordEvent('customer.subscription.updated', subscription, { status: 'active' });
  return subscription;
}

function creditLines(
  state: StripeState,
  subscription: StripeObject,
  use: { from: number; end: number },
): InvoiceLineDraft[] {
  return itemsOf(subscription)
    .map((item) => proratedLine(state, subscription, item, { ...use, sign: -1 }))
    .filter((line) => line !== null);
}

function manualInvoice(state: StripeState, subscription: StripeObject): StripeObject {
  return draftInvoice(state, {
    customer: state.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_update',
    currency: subscription.currency,
    period: periodOf(subscription),
    lines: [],
    autoAdvance: false,
  });
}

function resume({ state, ids, parameters }: StripeRequest): StripeObject {
  const subscription = state.get('subscription', ids[0]!);
  if (subscription.status !== 'paused')
    throw new StripeApiError(`You cannot resume a subscription with status ${subscription.status}.`);
  const latest = state.find(subscription.latest_invoice ?? '');
  if (latest?.status === 'open')
    throw new StripeApiError(
      `The invoice ${latest.id} of this subscription is open: it must be paid or voided first.`,
    );
  const unchanged = parameters.billing_cycle_anchor?.type === 'unchanged';
  if (!unchanged) {
    subscription.billing_cycle_anchor = state.now;
    subscription.billing_cycle_anchor_config = null;
  }
  setPeriod(subscription, { start: state.now, end: nextBoundary(subscription, state.now) });
  const { start, end: until } = periodOf(subscription);
  const behavior = unchanged ? (parameters.proration_behavior ?? 'create_prorations') : 'always_invoice';
  const from = parameters.proration_date ?? start;
  if (from > until)
    throw new StripeApiError('Invalid proration_date: it must be within the period that begins.', {
      param: 'proration_date',
    });
  const lines = remainderLines(state, subscription, { start: from, end: until });
  if (behavior !== 'none') addPendingLines(state, subscription, lines);
  if (behavior !== 'always_invoice') {
    resumeSubscription(state, subscription);
    return subscription;
  }
  const invoice = manualInvoice(state, subscription);
  state.resumeInvoices.add(invoice.id);
  finalizeInvoice(state, invoice);
  const attempts =
    parameters.payment_behavior === 'resume_on_payment_success' || invoice.amount_remaining === 0;
  if (attempts) collectAndUpdate(state, invoice, { isOffSession: true });
  return subscription;
}

function list(call: StripeRequest) {
  const { customer, status, price } = call.parameters;
  const ended = ['canceled', 'incomplete_expired'];
  if (customer !== undefined) customerOf(call.state, customer);
  const found = call.state
    .listObjects('subscription')
    .filter((one) => customer === undefined || one.customer === customer)
    .filter((one) => price === undefined || itemsOf(one).some((item) => item.price === price))
    .filter((one) => {
      if (status === undefined) return !ended.includes(one.status);
      if (status === 'all') return true;
      return status === 'ended' ? ended.includes(one.status) : one.status === status;
    });
  return pageOfObjects(call, found, '/v1/subscriptions');
}

export const subscriptionHandlers: Handlers = {
  'Subscriptions.create': create,
  'Subscriptions.update': update,
  'Subscriptions.retrieve': ({ state, ids }) => state.get('subscription', ids[0]!),
  'Subscriptions.list': list,
  'Subscriptions.cancel': cancel,
  'Subscriptions.pause': pause,
  'Subscriptions.resume': resume,
  'SubscriptionItems.list': (call) =>
    pageOfObjects(
      call,
      [...itemsOf(call.state.get('subscription', call.parameters.subscription))].reverse(),
      '/v1/subscription_items',
    ),
};
