import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { remainingOf, usableGrants } from './credits.ts';
import { customerOf } from './customers.ts';
import { usageOf } from './metering.ts';
import { Refusal } from './refusal.ts';
import { daySeconds, type Thing } from './world.ts';

/** Meters, what they are told, and the grants that pay for it. */

const pastDaysMax = 35;
const futureSecondsMax = 300;

function createMeter({ world, parameters }: Call): Thing {
  const { event_name: name } = parameters;
  if (world.all('billing.meter').some((meter) => meter.event_name === name && meter.status === 'active'))
    throw new Refusal(`An active meter with the event name ${name} already exists.`, {
      code: 'resource_already_exists',
    });
  const meter = world.add({
    id: world.id('mtr'),
    object: 'billing.meter',
    customer_mapping: parameters.customer_mapping ?? {
      event_payload_key: 'stripe_customer_id',
      type: 'by_id',
    },
    default_aggregation: parameters.default_aggregation,
    display_name: parameters.display_name,
    event_name: name,
    event_time_window: parameters.event_time_window ?? null,
    status: 'active',
    status_transitions: { deactivated_at: null },
    updated: world.now,
    value_settings: parameters.value_settings ?? { event_payload_key: 'value' },
  });
  world.happens('billing.meter.created', meter);
  return meter;
}

function setMeterStatus({ world, ids }: Call, status: 'active' | 'inactive'): Thing {
  const meter = world.get('billing.meter', ids[0]!);
  meter.status = status;
  meter.status_transitions = { deactivated_at: status === 'active' ? null : world.now };
  return meter;
}

function createEvent({ world, parameters }: Call): Thing {
  const { event_name: name, payload, timestamp = world.now } = parameters;
  const meter = world.all('billing.meter').find((one) => one.event_name === name && one.status === 'active');
  if (meter === undefined)
    throw new Refusal(`No active meter found for event name ${name}.`, {
      code: 'no_meter',
      param: 'event_name',
    });
  const customer = payload[meter.customer_mapping.event_payload_key];
  if (typeof customer !== 'string')
    throw new Refusal('The payload is missing the customer mapping key.', { param: 'payload' });
  customerOf(world, customer);
  const value = payload[meter.value_settings.event_payload_key];
  if (meter.default_aggregation.formula !== 'count' && !/^-?\d+(\.\d{1,12})?$/.test(String(value)))
    throw new Refusal('The payload value must be a number.', { param: 'payload' });
  if (timestamp > world.now + futureSecondsMax)
    throw new Refusal('The timestamp must be at most 5 minutes in the future.', {
      code: 'timestamp_in_future',
      param: 'timestamp',
    });
  if (timestamp < world.now - pastDaysMax * daySeconds)
    throw new Refusal('The timestamp must be within the past 35 calendar days.', {
      code: 'timestamp_too_far_in_past',
      param: 'timestamp',
    });
  const identifier = parameters.identifier ?? world.id('mev');
  const isRecent = ({ created }: Thing) => created + daySeconds > world.now;
  if (world.all('billing.meter_event').some((event) => event.identifier === identifier && isRecent(event)))
    throw new Refusal(`An event already exists with identifier ${identifier}.`, {
      code: 'duplicate_meter_event',
      param: 'identifier',
    });
  return world.add({
    id: world.id('mev'),
    object: 'billing.meter_event',
    event_name: name,
    identifier,
    payload,
    timestamp,
  });
}

function eventSummaries(call: Call) {
  const { world, ids, parameters } = call;
  const { customer, start_time: start, end_time: end } = parameters;
  const value = usageOf(world, ids[0]!, customer, { start, end });
  const summary: Thing = {
    id: world.id('mtrusg'),
    object: 'billing.meter_event_summary',
    created: world.now,
    aggregated_value: value,
    end_time: end,
    livemode: false,
    meter: ids[0]!,
    start_time: start,
  };
  const data = value === 0 ? [] : [summary];
  return {
    object: 'list',
    data,
    has_more: false,
    url: `/v1/billing/meters/${ids[0]}/event_summaries`,
  } as const;
}

function createGrant({ world, parameters }: Call): Thing {
  const { amount, customer, expires_at: expiresAt } = parameters;
  customerOf(world, customer);
  if (!(amount.monetary?.value > 0))
    throw new Refusal('The amount must be positive.', { param: 'amount[monetary][value]' });
  if (typeof expiresAt === 'number' && expiresAt <= world.now)
    throw new Refusal('`expires_at` must be in the future.', { param: 'expires_at' });
  const grant = world.add({
    id: world.id('credgr'),
    object: 'billing.credit_grant',
    amount,
    applicability_config: { scope: parameters.applicability_config.scope },
    category: parameters.category ?? 'promotional',
    customer,
    effective_at: parameters.effective_at ?? world.now,
    expires_at: expiresAt ?? null,
    metadata: mergedMetadata({}, parameters.metadata),
    name: parameters.name ?? null,
    priority: parameters.priority ?? 50,
    test_clock: null,
    updated: world.now,
    voided_at: null,
  });
  world.happens('billing.credit_grant.created', grant);
  return grant;
}

function changeGrant({ world, ids }: Call, change: Record<string, unknown>): Thing {
  const grant = world.get('billing.credit_grant', ids[0]!);
  Object.assign(grant, change, { updated: world.now });
  world.happens('billing.credit_grant.updated', grant);
  return grant;
}

/** Credit that is over cannot be ended again, and what was used of it once cannot be taken back. */
function endGrant(call: Call, field: 'expires_at' | 'voided_at'): Thing {
  const { world, ids } = call;
  const grant = world.get('billing.credit_grant', ids[0]!);
  const isOver = grant.voided_at !== null || (grant.expires_at ?? Number.POSITIVE_INFINITY) <= world.now;
  const isUsed = remainingOf(world, grant) < grant.amount.monetary.value;
  if (isOver || (field === 'voided_at' && isUsed))
    throw new Refusal(`This credit grant cannot be ${field === 'voided_at' ? 'voided' : 'expired'}.`);
  return changeGrant(call, { [field]: world.now });
}

function balanceSummary({ world, parameters }: Call): Thing {
  const { customer, filter } = parameters;
  const currency = customerOf(world, customer).currency ?? 'usd';
  const value = usableGrants(world, customer, currency)
    .filter(({ id }) => filter.type !== 'credit_grant' || id === filter.credit_grant)
    .reduce((sum, grant) => sum + remainingOf(world, grant), 0);
  const balance = { type: 'monetary', monetary: { currency, value } };
  return {
    id: customer,
    object: 'billing.credit_balance_summary',
    balances: [{ available_balance: balance, ledger_balance: balance }],
    customer,
    livemode: false,
  };
}

export const meteredBilling: Handlers = {
  'Billing/Meters.create': createMeter,
  'Billing/Meters.retrieve': ({ world, ids }) => world.get('billing.meter', ids[0]!),
  'Billing/Meters.update': ({ world, ids, parameters }) =>
    Object.assign(world.get('billing.meter', ids[0]!), given(parameters, ['display_name']), {
      updated: world.now,
    }),
  'Billing/Meters.list': (call) => {
    const { status } = call.parameters;
    const found = call.world
      .all('billing.meter')
      .filter((meter) => status === undefined || meter.status === status);
    return pageOf(call, found, '/v1/billing/meters');
  },
  'Billing/Meters.deactivate': (call) => setMeterStatus(call, 'inactive'),
  'Billing/Meters.reactivate': (call) => setMeterStatus(call, 'active'),
  'Billing/Meters.listEventSummaries': eventSummaries,
  'Billing/MeterEvents.create': createEvent,
  'Billing/CreditGrants.create': createGrant,
  'Billing/CreditGrants.retrieve': ({ world, ids }) => world.get('billing.credit_grant', ids[0]!),
  'Billing/CreditGrants.update': (call) =>
    changeGrant(call, {
      ...given(call.parameters, ['expires_at']),
      metadata: mergedMetadata(
        call.world.get('billing.credit_grant', call.ids[0]!).metadata,
        call.parameters.metadata,
      ),
    }),
  'Billing/CreditGrants.expire': (call) => endGrant(call, 'expires_at'),
  'Billing/CreditGrants.voidGrant': (call) => endGrant(call, 'voided_at'),
  'Billing/CreditGrants.list': (call) => {
    const { customer } = call.parameters;
    const found = call.world
      .all('billing.credit_grant')
      .filter((grant) => customer === undefined || grant.customer === customer);
    return pageOf(call, found, '/v1/billing/credit_grants');
  },
  'Billing/CreditBalanceSummary.retrieve': balanceSummary,
};
