import { currentPhase, phaseEndOf, releaseSchedule } from './schedule-lifecycle.ts';
import { StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import { endSubscription, itemsOf, periodOf, priceOf } from './subscription-lifecycle.ts';

const unsupported = ['billing_behavior', 'pause_schedules', 'prebilling', 'customer', 'start_date'];

function create({ state, parameters }: StripeRequest): StripeObject {
  const { from_subscription: from, ...rest } = parameters;
  if (from === undefined)
    throw new StripeApiError('The emulator makes schedules from subscriptions only.', {
      param: 'from_subscription',
    });
  const other = Object.keys(rest).find((name) => name !== 'expand');
  if (other !== undefined)
    throw new StripeApiError(`You cannot set \`${other}\` if \`from_subscription\` is set.`, {
      param: other,
    });
  const subscription = state.get('subscription', from);
  if (subscription.schedule !== null)
    throw new StripeApiError(
      `You cannot migrate a subscription that is already attached to a schedule: ${subscription.schedule}.`,
    );
  if (!['active', 'past_due', 'trialing'].includes(subscription.status))
    throw new StripeApiError(
      `You cannot attach a schedule to a subscription with status ${subscription.status}.`,
    );
  const period = periodOf(subscription);
  const items = itemsOf(subscription).map((item) => ({ price: item.price, quantity: item.quantity }));
  const schedule = state.add({
    id: state.nextId('sub_sched'),
    object: 'subscription_schedule',
    application: null,
    billing_mode: subscription.billing_mode,
    canceled_at: null,
    completed_at: null,
    current_phase: { end_date: period.end, start_date: period.start },
    customer: subscription.customer,
    default_settings: {
      billing_cycle_anchor: 'automatic',
      collection_method: 'charge_automatically',
      invoice_settings: { account_tax_ids: null, days_until_due: null, issuer: { type: 'self' } },
    },
    end_behavior: 'release',
    metadata: {},
    phases: [
      phaseOf(state, subscription, {
        items,
        start_date: period.start,
        end_date: period.end,
        default_tax_rates: subscription.default_tax_rates?.map(({ id }: StripeObject) => id),
        discounts: subscription.discounts.map((discount: string) => ({ discount })),
      }),
    ],
    released_at: null,
    released_subscription: null,
    status: 'active',
    subscription: subscription.id,
    test_clock: null,
  });
  subscription.schedule = schedule.id;
  state.recordEvent('subscription_schedule.created', schedule);
  state.recordEvent('customer.subscription.updated', subscription, { schedule: null });
  return schedule;
}

function phaseOf(state: StripeState, subscription: StripeObject, phase: StripeRequest['parameters']) {
  return {
    add_invoice_items: [],
    application_fee_percent: null,
    billing_cycle_anchor: null,
    billing_thresholds: null,
    collection_method: null,
    currency: subscription.currency,
    default_payment_method: null,
    default_tax_rates: taxRates(state, phase.default_tax_rates || null),
    description: null,
    discounts: (phase.discounts || []).map((one: StripeRequest['parameters']) => ({
      coupon: one.coupon ?? null,
      discount: one.discount ?? null,
      promotion_code: one.promotion_code ?? null,
    })),
    end_date: phase.end_date,
    invoice_settings: null,
    items: phase.items.map((item: StripeRequest['parameters']) => phaseItem(state, item)),
    metadata: mergeMetadata({}, phase.metadata),
    on_behalf_of: null,
    proration_behavior: phase.proration_behavior ?? 'create_prorations',
    start_date: phase.start_date,
    transfer_data: null,
    trial_end: null,
  };
}

function taxRates(state: StripeState, ids: readonly string[] | null): StripeObject[] | null {
  return ids === null ? null : ids.map((id) => state.get('tax_rate', id));
}

function phaseItem(state: StripeState, item: StripeRequest['parameters']) {
  const price = state.get('price', item.price);
  if (price.recurring === null)
    throw new StripeApiError('A phase accepts only prices with `type=recurring`.');
  const metered = price.recurring.usage_type === 'metered';
  return {
    billing_thresholds: null,
    discounts: [],
    metadata: mergeMetadata({}, item.metadata),
    plan: price.id,
    price: price.id,
    ...(metered ? {} : { quantity: item.quantity ?? 1 }),
    tax_rates: [],
  };
}

function activeSchedule({ state, ids }: StripeRequest): StripeObject {
  const schedule = state.get('subscription_schedule', ids[0]!);
  if (schedule.status !== 'active' && schedule.status !== 'not_started')
    throw new StripeApiError(
      `You cannot update a subscription schedule that is currently in the \`${schedule.status}\` status.`,
    );
  return schedule;
}

function update(call: StripeRequest): StripeObject {
  const { state, parameters } = call;
  const wrong = unsupported.find((name) => parameters[name] !== undefined);
  if (wrong !== undefined)
    throw new StripeApiError(`The emulator does not know the parameter ${wrong}.`, { param: wrong });
  const schedule = activeSchedule(call);
  const subscription = state.get('subscription', schedule.subscription);
  if (parameters.phases !== undefined)
    schedule.phases = phasesOf(state, schedule, subscription, parameters.phases);
  Object.assign(schedule, pickParameters(parameters, ['end_behavior']));
  schedule.metadata = mergeMetadata(schedule.metadata, parameters.metadata);
  const phase = currentPhase(schedule, state.now);
  schedule.current_phase = phase === null ? null : { end_date: phase.end_date, start_date: phase.start_date };
  state.recordEvent('subscription_schedule.updated', schedule);
  return schedule;
}

/** Phases are contiguous, the current one keeps its start, and each needs a duration or an end. */
function phasesOf(
  state: StripeState,
  schedule: StripeObject,
  subscription: StripeObject,
  phaseInputs: readonly StripeRequest['parameters'][],
): StripeObject[] {
  const currency = priceOf(state, itemsOf(subscription)[0]!).currency;
  const phases: StripeRequest['parameters'][] = [];
  for (const [index, phase] of phaseInputs.entries()) {
    const before = phases.at(-1)?.end_date;
    const start = index === 0 ? startOf(schedule, phase) : (phase.start_date ?? before);
    if (index > 0 && start !== before)
      throw new StripeApiError(
        'The subscription schedule phases must be contiguous: a phase starts when the one before it ends.',
      );
    if (phase.end_date === undefined && phase.duration === undefined)
      throw new StripeApiError('You must specify either `duration` or `end_date` for each phase.', {
        param: `phases[${index}]`,
      });
    const until =
      phase.end_date === 'now' ? state.now : (phase.end_date ?? phaseEndOf(start, phase.duration));
    if (until <= start)
      throw new StripeApiError('The end of a phase must be after its start.', {
        param: `phases[${index}][end_date]`,
      });
    if (phase.trial_end !== undefined || phase.trial === true)
      throw new StripeApiError('The emulator knows no trials.');
    const builtPhase = phaseOf(state, subscription, { ...phase, start_date: start, end_date: until });
    for (const item of builtPhase.items)
      if (state.get('price', item.price).currency !== currency)
        throw new StripeApiError('All prices of a schedule must have the currency of its subscription.');
    phases.push(builtPhase);
  }
  if (currentPhase({ ...schedule, phases }, state.now) === null)
    throw new StripeApiError('One of the phases must be the current one.', { param: 'phases' });
  return phases as StripeObject[];
}

function startOf(schedule: StripeObject, phase: StripeRequest['parameters']): number {
  const { start_date: running } = schedule.current_phase;
  if (phase.start_date === undefined)
    throw new StripeApiError(
      'The subscription schedule update is missing at least one phase with a `start_date` to anchor end dates to.',
      { param: 'phases' },
    );
  if (phase.start_date !== running)
    throw new StripeApiError('You can not modify the start date of the current phase.', {
      param: 'phases[0][start_date]',
    });
  return running;
}

function cancel(call: StripeRequest): StripeObject {
  const schedule = activeSchedule(call);
  const subscription = call.state.get('subscription', schedule.subscription);
  subscription.schedule = null;
  schedule.status = 'canceled';
  schedule.canceled_at = call.state.now;
  endSubscription(call.state, subscription, 'cancellation_requested');
  call.state.recordEvent('subscription_schedule.canceled', schedule);
  return schedule;
}

export const scheduleHandlers: Handlers = {
  'SubscriptionSchedules.create': create,
  'SubscriptionSchedules.update': update,
  'SubscriptionSchedules.retrieve': ({ state, ids }) => state.get('subscription_schedule', ids[0]!),
  'SubscriptionSchedules.release': (call) => {
    const schedule = activeSchedule(call);
    releaseSchedule(call.state, schedule);
    return schedule;
  },
  'SubscriptionSchedules.cancel': cancel,
  'SubscriptionSchedules.list': (call) => {
    const { customer } = call.parameters;
    const found = call.state
      .listObjects('subscription_schedule')
      .filter((schedule) => customer === undefined || schedule.customer === customer);
    return pageOfObjects(call, found, '/v1/subscription_schedules');
  },
};
