import { firstDay } from './calendar.ts';
import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { cardOfCustomer } from './cards.ts';
import { checkCurrency } from './credits.ts';
import { customerOf } from './customers.ts';
import { type Draft, draftInvoice, finalise } from './invoicing.ts';
import { defaultMethod, refusalOf } from './payments.ts';
import { Refusal } from './refusal.ts';
import {
  changeOf,
  collectAndReact,
  discardPendingUpdate,
  end,
  giveUpFirstPayment,
  invoiceNow,
  itemsOf,
  keepForNextInvoice,
  movePeriod,
  newItem,
  nextBoundary,
  paymentSecondsMax,
  periodOf,
  priceOf,
  proratedLine,
  restOf,
  resumed,
  usageLines,
} from './subscription-life.ts';
import type { Thing, World } from './world.ts';

/** What Stripe offers and the emulator does not: asked for, it says so. */
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

/** What may come along with `pending_if_incomplete`. */
const withPendingUpdate = [
  ...['items', 'proration_behavior', 'proration_date', 'payment_behavior', 'billing_cycle_anchor', 'expand'],
  ...['metadata', 'discounts', 'cancel_at_period_end', 'trial_end', 'trial_from_plan', 'add_invoice_items'],
];

function refuseUnsupported(parameters: Call['parameters']): void {
  const found = unsupported.find((name) => parameters[name] !== undefined && parameters[name] !== '');
  if (found !== undefined)
    throw new Refusal(`The emulator does not know the parameter ${found}.`, { param: found });
  if (parameters.collection_method === 'send_invoice') throw new Refusal('The emulator sends no invoices.');
}

function create({ world, parameters }: Call): Thing {
  refuseUnsupported(parameters);
  if (parameters.payment_behavior === 'pending_if_incomplete')
    throw new Refusal('`pending_if_incomplete` can only be used when updating a subscription.', {
      param: 'payment_behavior',
    });
  const customer = customerOf(world, parameters.customer);
  const id = world.id('sub');
  const anchor = anchorOf(world, parameters);
  const period = {
    start: world.now,
    end: anchor > world.now ? anchor : nextBoundary(blank(id, anchor, parameters), world.now),
  };
  const items = (parameters.items ?? []).map((item: { price: string }) =>
    newItem(world, { id }, item, period),
  ) as Thing[];
  if (items.length === 0)
    throw new Refusal('Missing required param: items.', { code: 'parameter_missing', param: 'items' });
  const currency = checkItems(world, items);
  checkCurrency(customer, currency);
  const method = parameters.default_payment_method;
  const subscription = {
    ...blank(id, anchor, parameters),
    currency,
    customer: customer.id,
    default_payment_method: method === undefined ? null : cardOfCustomer(world, method, customer).id,
    description: parameters.description ?? null,
    items: { object: 'list', data: items, has_more: false, url: `/v1/subscription_items?subscription=${id}` },
    metadata: mergedMetadata({}, parameters.metadata),
    start_date: world.now,
  };
  if (parameters.payment_behavior === 'error_if_incomplete')
    refuseUnlessItPays(world, customer, subscription.default_payment_method);
  const added = world.add(subscription);
  world.happens('customer.subscription.created', added);
  firstInvoice(world, added, parameters);
  return added;
}

function blank(id: string, anchor: number, parameters: Call['parameters']) {
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

function anchorOf(world: World, parameters: Call['parameters']): number {
  const config = parameters.billing_cycle_anchor_config;
  if (config === undefined)
    return typeof parameters.billing_cycle_anchor === 'number' ? parameters.billing_cycle_anchor : world.now;
  if (config.day_of_month < 1 || config.day_of_month > 31)
    throw new Refusal('Invalid day_of_month: must be between 1 and 31.');
  const date = new Date(world.now * 1_000);
  const { hour = date.getUTCHours(), minute = date.getUTCMinutes(), second = date.getUTCSeconds() } = config;
  return firstDay(world.now, config.day_of_month, hour * 3_600 + minute * 60 + second);
}

/** One currency, one interval, every price once; gives the currency. */
function checkItems(world: World, items: readonly Thing[]): string {
  const prices = items.map((item) => priceOf(world, item));
  const [first] = prices;
  for (const price of prices) {
    if (price.recurring === null)
      throw new Refusal(
        'The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`.',
      );
    if (price.recurring.interval !== 'month' || price.recurring.interval_count !== 1)
      throw new Refusal('The emulator bills monthly only.');
    if (!price.active)
      throw new Refusal(`The price specified is inactive. This field only accepts active prices.`);
    if (price.currency !== first!.currency)
      throw new Refusal('All prices on a subscription must have the same `currency` field.');
  }
  if (new Set(prices.map(({ id }) => id)).size < prices.length)
    throw new Refusal('Cannot add multiple subscription items with the same price.');
  return first!.currency;
}

function refuseUnlessItPays(world: World, customer: Thing, method: string | null): void {
  const card = method ?? customer.invoice_settings.default_payment_method;
  const behaviour = card === null ? null : world.cards.get(card);
  if (behaviour === null) throw refusalOf('no-method');
  if (behaviour === 'declines') throw refusalOf('declined');
  if (behaviour !== 'pays')
    throw new Refusal('Subscription creation failed because the payment requires additional user action.', {
      status: 402,
      type: 'card_error',
      code: 'subscription_payment_intent_requires_action',
    });
}

function firstInvoice(world: World, subscription: Thing, parameters: Call['parameters']): void {
  const { start, end: until } = periodOf(subscription);
  const free = parameters.proration_behavior === 'none' && subscription.billing_cycle_anchor > world.now;
  const lines = free
    ? []
    : itemsOf(subscription)
        .map((item) => proratedLine(world, subscription, item, { from: start, end: until, sign: 1 }))
        .filter((line) => line !== null);
  const invoice = draftInvoice(world, {
    customer: world.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_create',
    currency: subscription.currency,
    period: { start, end: start },
    lines,
    autoAdvance: false,
  });
  finalise(world, invoice);
  const waits = parameters.payment_behavior === 'default_incomplete' && invoice.amount_remaining > 0;
  if (!waits) collectAndReact(world, invoice);
}

function update({ world, ids, parameters }: Call): Thing {
  refuseUnsupported(parameters);
  const subscription = world.get('subscription', ids[0]!);
  refuseByState(subscription, parameters);
  const customer = world.get('customer', subscription.customer);
  if (parameters.default_payment_method !== undefined) {
    const method = parameters.default_payment_method;
    subscription.default_payment_method = method === '' ? null : cardOfCustomer(world, method, customer).id;
  }
  const before = { metadata: subscription.metadata };
  subscription.metadata = mergedMetadata(subscription.metadata, parameters.metadata);
  Object.assign(subscription, given(parameters, ['cancel_at_period_end', 'description', 'cancel_at']));
  if (parameters.cancel_at_period_end !== undefined) {
    const { cancel_at_period_end: atEnd } = parameters;
    subscription.cancel_at = atEnd ? periodOf(subscription).end : null;
    subscription.canceled_at = atEnd ? world.now : null;
  }
  if (parameters.payment_settings !== undefined)
    Object.assign(subscription.payment_settings, parameters.payment_settings);
  if (parameters.items !== undefined) changeItems(world, subscription, parameters);
  world.happens('customer.subscription.updated', subscription, before);
  return subscription;
}

function refuseByState(subscription: Thing, parameters: Call['parameters']): void {
  const named = Object.keys(parameters).filter((name) => name !== 'expand');
  if (subscription.status === 'canceled' || subscription.status === 'incomplete_expired') {
    if (named.some((name) => name !== 'metadata' && name !== 'cancellation_details'))
      throw new Refusal('A canceled subscription can only update its cancellation_details and metadata.', {
        code: 'resource_missing',
      });
  }
  if (parameters.payment_behavior === 'pending_if_incomplete') {
    const wrong = named.find((name) => !withPendingUpdate.includes(name));
    if (wrong !== undefined)
      throw new Refusal(
        `Your update includes parameters which are not supported with \`pending_if_incomplete\`: ${wrong}.`,
        { param: wrong },
      );
  }
  const cancels = ['cancel_at', 'cancel_at_period_end'].some((name) => parameters[name] !== undefined);
  if (subscription.schedule !== null && (cancels || parameters.items !== undefined)) {
    const what = cancels ? 'updating any cancelation behavior' : 'updating its items';
    throw new Refusal(
      `The subscription is managed by the subscription schedule \`${subscription.schedule}\`, and ${what} directly is not allowed. Please update the schedule instead.`,
    );
  }
  if (parameters.items === undefined) return;
  if (subscription.status === 'incomplete')
    throw new Refusal('You cannot update the items of a subscription whose first payment is incomplete.');
  if (subscription.status === 'paused')
    throw new Refusal('You cannot update the items of a paused subscription. Resume it first.');
}

function changeItems(world: World, subscription: Thing, parameters: Call['parameters']): void {
  const period = periodOf(subscription);
  const from = parameters.proration_date ?? world.now;
  if (from < period.start || from > period.end)
    throw new Refusal('Invalid proration_date: it must be within the current period of the subscription.', {
      param: 'proration_date',
    });
  for (const { id } of parameters.items)
    if (id !== undefined && !itemsOf(subscription).some((item) => item.id === id))
      throw new Refusal(`Invalid subscription_item id: ${id}`, {
        status: 404,
        code: 'resource_missing',
        param: 'items',
      });
  const { items, lines } = changeOf(world, subscription, parameters.items, from);
  if (checkItems(world, items) !== subscription.currency)
    throw new Refusal(
      `The price specified supports a currency that is not the subscription's: ${subscription.currency}.`,
    );
  discardPendingUpdate(world, subscription);
  const behaviour = parameters.proration_behavior ?? 'create_prorations';
  if (behaviour !== 'always_invoice' || lines.length === 0) {
    subscription.items.data = items;
    if (behaviour === 'create_prorations') keepForNextInvoice(world, subscription, lines);
    return;
  }
  invoiceChange(world, subscription, { items, lines }, parameters.payment_behavior ?? 'allow_incomplete');
}

function invoiceChange(
  world: World,
  subscription: Thing,
  change: { readonly items: Thing[]; readonly lines: readonly Draft[] },
  behaviour: string,
): void {
  const customer = world.get('customer', subscription.customer);
  if (behaviour === 'error_if_incomplete')
    refuseUnlessItPays(world, customer, subscription.default_payment_method);
  const period = periodOf(subscription);
  if (behaviour === 'pending_if_incomplete') {
    subscription.pending_update = {
      billing_cycle_anchor: null,
      expires_at: Math.min(world.now + paymentSecondsMax, period.end),
      subscription_items: change.items,
      trial_end: null,
      trial_from_plan: null,
    };
  } else {
    subscription.items.data = change.items;
  }
  keepForNextInvoice(world, subscription, change.lines);
  const invoice = draftInvoice(world, {
    customer,
    subscription,
    reason: 'subscription_update',
    currency: subscription.currency,
    period: { start: period.start, end: world.now },
    lines: [],
    autoAdvance: false,
  });
  if (behaviour !== 'default_incomplete')
    invoiceNow(world, invoice, { method: defaultMethod(world, invoice) });
  else finalise(world, invoice);
}

function cancel({ world, ids, parameters }: Call): Thing {
  const subscription = world.get('subscription', ids[0]!);
  if (['canceled', 'incomplete_expired'].includes(subscription.status))
    throw new Refusal(`No such subscription: '${ids[0]}'`, { status: 404, code: 'resource_missing' });
  if (parameters.prorate === true) {
    const { end: until } = periodOf(subscription);
    const credit = itemsOf(subscription)
      .map((item) => proratedLine(world, subscription, item, { from: world.now, end: until, sign: -1 }))
      .filter((line) => line !== null);
    keepForNextInvoice(world, subscription, credit);
  }
  const schedule =
    subscription.schedule === null ? null : world.get('subscription_schedule', subscription.schedule);
  if (schedule !== null) {
    schedule.status = 'canceled';
    schedule.canceled_at = world.now;
    subscription.schedule = null;
    world.happens('subscription_schedule.canceled', schedule);
  }
  if (subscription.status === 'incomplete') giveUpFirstPayment(world, subscription);
  else end(world, subscription, 'cancellation_requested');
  return subscription;
}

function pause({ world, ids, parameters }: Call): Thing {
  const subscription = world.get('subscription', ids[0]!);
  if (subscription.billing_mode.type !== 'flexible')
    throw new Refusal('You can only pause subscriptions with billing_mode flexible.');
  if (subscription.schedule !== null)
    throw new Refusal('You cannot pause a subscription with an attached schedule.');
  if (subscription.status !== 'active' && subscription.status !== 'past_due')
    throw new Refusal(`You cannot pause a subscription with status ${subscription.status}.`);
  discardPendingUpdate(world, subscription);
  const now = world.now;
  const { end: until, start } = periodOf(subscription);
  const unused = parameters.bill_for?.unused_time_from?.type ?? 'now';
  const from = unused === 'item_current_period_start' ? start : now;
  const credit = unused === 'none' ? [] : creditLines(world, subscription, { from, end: until });
  const usage =
    parameters.bill_for?.outstanding_usage_through?.type === 'none'
      ? []
      : usageLines(world, subscription, now);
  keepForNextInvoice(world, subscription, [...credit, ...usage.filter(({ amount }) => amount !== 0)]);
  movePeriod(subscription, { start, end: now });
  subscription.status = 'paused';
  const paused = { subscription: { type: 'pause_requested' }, transitioned_at: now, type: 'subscription' };
  subscription.status_details = { paused };
  if (parameters.invoicing_behavior === 'invoice') invoiceNow(world, manualInvoice(world, subscription));
  world.happens('customer.subscription.paused', subscription);
  world.happens('customer.subscription.updated', subscription, { status: 'active' });
  return subscription;
}

function creditLines(world: World, subscription: Thing, use: { from: number; end: number }): Draft[] {
  return itemsOf(subscription)
    .map((item) => proratedLine(world, subscription, item, { ...use, sign: -1 }))
    .filter((line) => line !== null);
}

function manualInvoice(world: World, subscription: Thing): Thing {
  return draftInvoice(world, {
    customer: world.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_update',
    currency: subscription.currency,
    period: periodOf(subscription),
    lines: [],
    autoAdvance: false,
  });
}

function resume({ world, ids, parameters }: Call): Thing {
  const subscription = world.get('subscription', ids[0]!);
  if (subscription.status !== 'paused')
    throw new Refusal(`You cannot resume a subscription with status ${subscription.status}.`);
  const latest = world.find(subscription.latest_invoice ?? '');
  if (latest?.status === 'open')
    throw new Refusal(
      `The invoice ${latest.id} of this subscription is open: it must be paid or voided first.`,
    );
  const unchanged = parameters.billing_cycle_anchor?.type === 'unchanged';
  if (!unchanged) {
    subscription.billing_cycle_anchor = world.now;
    subscription.billing_cycle_anchor_config = null;
  }
  movePeriod(subscription, { start: world.now, end: nextBoundary(subscription, world.now) });
  const { start, end: until } = periodOf(subscription);
  const behaviour = unchanged ? (parameters.proration_behavior ?? 'create_prorations') : 'always_invoice';
  const from = parameters.proration_date ?? start;
  if (from > until)
    throw new Refusal('Invalid proration_date: it must be within the period that begins.', {
      param: 'proration_date',
    });
  const lines = restOf(world, subscription, { start: from, end: until });
  if (behaviour !== 'none') keepForNextInvoice(world, subscription, lines);
  if (behaviour !== 'always_invoice') {
    resumed(world, subscription);
    return subscription;
  }
  const invoice = manualInvoice(world, subscription);
  world.resumptions.add(invoice.id);
  finalise(world, invoice);
  const tries = parameters.payment_behavior === 'resume_on_payment_success' || invoice.amount_remaining === 0;
  if (tries) collectAndReact(world, invoice, { absent: true });
  return subscription;
}

function list(call: Call) {
  const { customer, status, price } = call.parameters;
  const ended = ['canceled', 'incomplete_expired'];
  if (customer !== undefined) customerOf(call.world, customer);
  const found = call.world
    .all('subscription')
    .filter((one) => customer === undefined || one.customer === customer)
    .filter((one) => price === undefined || itemsOf(one).some((item) => item.price === price))
    .filter((one) => {
      if (status === undefined) return !ended.includes(one.status);
      if (status === 'all') return true;
      return status === 'ended' ? ended.includes(one.status) : one.status === status;
    });
  return pageOf(call, found, '/v1/subscriptions');
}

export const subscriptions: Handlers = {
  'Subscriptions.create': create,
  'Subscriptions.update': update,
  'Subscriptions.retrieve': ({ world, ids }) => world.get('subscription', ids[0]!),
  'Subscriptions.list': list,
  'Subscriptions.cancel': cancel,
  'Subscriptions.pause': pause,
  'Subscriptions.resume': resume,
  'SubscriptionItems.list': (call) =>
    pageOf(
      call,
      [...itemsOf(call.world.get('subscription', call.parameters.subscription))].reverse(),
      '/v1/subscription_items',
    ),
};
