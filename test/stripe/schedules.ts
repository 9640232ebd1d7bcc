import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { Refusal } from './refusal.ts';
import { currentPhase, endOfDuration, release } from './schedule-life.ts';
import { end, itemsOf, periodOf, priceOf } from './subscription-life.ts';
import type { Thing, World } from './world.ts';

const unsupported = ['billing_behavior', 'pause_schedules', 'prebilling', 'customer', 'start_date'];

function create({ world, parameters }: Call): Thing {
  const { from_subscription: from, ...rest } = parameters;
  if (from === undefined)
    throw new Refusal('The emulator makes schedules from subscriptions only.', {
      param: 'from_subscription',
    });
  const other = Object.keys(rest).find((name) => name !== 'expand');
  if (other !== undefined)
    throw new Refusal(`You cannot set \`${other}\` if \`from_subscription\` is set.`, { param: other });
  const subscription = world.get('subscription', from);
  if (subscription.schedule !== null)
    throw new Refusal(
      `You cannot migrate a subscription that is already attached to a schedule: ${subscription.schedule}.`,
    );
  if (!['active', 'past_due', 'trialing'].includes(subscription.status))
    throw new Refusal(`You cannot attach a schedule to a subscription with status ${subscription.status}.`);
  const period = periodOf(subscription);
  const items = itemsOf(subscription).map((item) => ({ price: item.price, quantity: item.quantity }));
  const schedule = world.add({
    id: world.id('sub_sched'),
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
      phaseOf(world, subscription, {
        items,
        start_date: period.start,
        end_date: period.end,
        default_tax_rates: subscription.default_tax_rates?.map(({ id }: Thing) => id),
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
  world.happens('subscription_schedule.created', schedule);
  world.happens('customer.subscription.updated', subscription, { schedule: null });
  return schedule;
}

function phaseOf(world: World, subscription: Thing, phase: Call['parameters']) {
  return {
    add_invoice_items: [],
    application_fee_percent: null,
    billing_cycle_anchor: null,
    billing_thresholds: null,
    collection_method: null,
    currency: subscription.currency,
    default_payment_method: null,
    default_tax_rates: taxRates(world, phase.default_tax_rates || null),
    description: null,
    discounts: (phase.discounts || []).map((one: Call['parameters']) => ({
      coupon: one.coupon ?? null,
      discount: one.discount ?? null,
      promotion_code: one.promotion_code ?? null,
    })),
    end_date: phase.end_date,
    invoice_settings: null,
    items: phase.items.map((item: Call['parameters']) => phaseItem(world, item)),
    metadata: mergedMetadata({}, phase.metadata),
    on_behalf_of: null,
    proration_behavior: phase.proration_behavior ?? 'create_prorations',
    start_date: phase.start_date,
    transfer_data: null,
    trial_end: null,
  };
}

function taxRates(world: World, ids: readonly string[] | null): Thing[] | null {
  return ids === null ? null : ids.map((id) => world.get('tax_rate', id));
}

function phaseItem(world: World, item: Call['parameters']) {
  const price = world.get('price', item.price);
  if (price.recurring === null) throw new Refusal('A phase accepts only prices with `type=recurring`.');
  const metered = price.recurring.usage_type === 'metered';
  return {
    billing_thresholds: null,
    discounts: [],
    metadata: mergedMetadata({}, item.metadata),
    plan: price.id,
    price: price.id,
    ...(metered ? {} : { quantity: item.quantity ?? 1 }),
    tax_rates: [],
  };
}

function running({ world, ids }: Call): Thing {
  const schedule = world.get('subscription_schedule', ids[0]!);
  if (schedule.status !== 'active' && schedule.status !== 'not_started')
    throw new Refusal(
      `You cannot update a subscription schedule that is currently in the \`${schedule.status}\` status.`,
    );
  return schedule;
}

function update(call: Call): Thing {
  const { world, parameters } = call;
  const wrong = unsupported.find((name) => parameters[name] !== undefined);
  if (wrong !== undefined)
    throw new Refusal(`The emulator does not know the parameter ${wrong}.`, { param: wrong });
  const schedule = running(call);
  const subscription = world.get('subscription', schedule.subscription);
  if (parameters.phases !== undefined)
    schedule.phases = phasesOf(world, schedule, subscription, parameters.phases);
  Object.assign(schedule, given(parameters, ['end_behavior']));
  schedule.metadata = mergedMetadata(schedule.metadata, parameters.metadata);
  const phase = currentPhase(schedule, world.now);
  schedule.current_phase = phase === null ? null : { end_date: phase.end_date, start_date: phase.start_date };
  world.happens('subscription_schedule.updated', schedule);
  return schedule;
}

/** Phases follow each other without a gap, the running one keeps its start, and each says how long it is. */
function phasesOf(
  world: World,
  schedule: Thing,
  subscription: Thing,
  wanted: readonly Call['parameters'][],
): Thing[] {
  const currency = priceOf(world, itemsOf(subscription)[0]!).currency;
  const phases: Call['parameters'][] = [];
  for (const [index, phase] of wanted.entries()) {
    const before = phases.at(-1)?.end_date;
    const start = index === 0 ? startOf(schedule, phase) : (phase.start_date ?? before);
    if (index > 0 && start !== before)
      throw new Refusal(
        'The subscription schedule phases must be contiguous: a phase starts when the one before it ends.',
      );
    if (phase.end_date === undefined && phase.duration === undefined)
      throw new Refusal('You must specify either `duration` or `end_date` for each phase.', {
        param: `phases[${index}]`,
      });
    const until =
      phase.end_date === 'now' ? world.now : (phase.end_date ?? endOfDuration(start, phase.duration));
    if (until <= start)
      throw new Refusal('The end of a phase must be after its start.', {
        param: `phases[${index}][end_date]`,
      });
    if (phase.trial_end !== undefined || phase.trial === true)
      throw new Refusal('The emulator knows no trials.');
    const made = phaseOf(world, subscription, { ...phase, start_date: start, end_date: until });
    for (const item of made.items)
      if (world.get('price', item.price).currency !== currency)
        throw new Refusal('All prices of a schedule must have the currency of its subscription.');
    phases.push(made);
  }
  if (currentPhase({ ...schedule, phases }, world.now) === null)
    throw new Refusal('One of the phases must be the current one.', { param: 'phases' });
  return phases as Thing[];
}

function startOf(schedule: Thing, phase: Call['parameters']): number {
  const { start_date: running } = schedule.current_phase;
  if (phase.start_date === undefined)
    throw new Refusal(
      'The subscription schedule update is missing at least one phase with a `start_date` to anchor end dates to.',
      { param: 'phases' },
    );
  if (phase.start_date !== running)
    throw new Refusal('You can not modify the start date of the current phase.', {
      param: 'phases[0][start_date]',
    });
  return running;
}

function cancel(call: Call): Thing {
  const schedule = running(call);
  const subscription = call.world.get('subscription', schedule.subscription);
  subscription.schedule = null;
  schedule.status = 'canceled';
  schedule.canceled_at = call.world.now;
  end(call.world, subscription, 'cancellation_requested');
  call.world.happens('subscription_schedule.canceled', schedule);
  return schedule;
}

export const schedules: Handlers = {
  'SubscriptionSchedules.create': create,
  'SubscriptionSchedules.update': update,
  'SubscriptionSchedules.retrieve': ({ world, ids }) => world.get('subscription_schedule', ids[0]!),
  'SubscriptionSchedules.release': (call) => {
    const schedule = running(call);
    release(call.world, schedule);
    return schedule;
  },
  'SubscriptionSchedules.cancel': cancel,
  'SubscriptionSchedules.list': (call) => {
    const { customer } = call.parameters;
    const found = call.world
      .all('subscription_schedule')
      .filter((schedule) => customer === undefined || schedule.customer === customer);
    return pageOf(call, found, '/v1/subscription_schedules');
  },
};
