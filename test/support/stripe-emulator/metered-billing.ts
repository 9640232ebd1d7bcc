import { applicableGrants, remainingOf } from './credits.ts';
import { customerOf } from './customers.ts';
import { meteredUsageOf } from './meter-usage.ts';
import { StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import { daySeconds, type StripeObject } from './stripe-state.ts';

/** Request handlers of meters, meter events, and the credit grants that pay for usage. */

const eventAgeDaysMax = 35;
const eventFutureSecondsMax = 300;

function createMeter({ state, parameters }: StripeRequest): StripeObject {
  const { event_name: name } = parameters;
  if (
    state.listObjects('billing.meter').some((meter) => meter.event_name === name && meter.status === 'active')
  )
    throw new StripeApiError(`An active meter with the event name ${name} already exists.`, {
      code: 'resource_already_exists',
    });
  const meter = state.add({
    id: state.nextId('mtr'),
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
    updated: state.now,
    value_settings: parameters.value_settings ?? { event_payload_key: 'value' },
  });
  state.recordEvent('billing.meter.created', meter);
  return meter;
}

function setMeterStatus({ state, ids }: StripeRequest, status: 'active' | 'inactive'): StripeObject {
  const meter = state.get('billing.meter', ids[0]!);
  meter.status = status;
  meter.status_transitions = { deactivated_at: status === 'active' ? null : state.now };
  return meter;
}

function createEvent({ state, parameters }: StripeRequest): StripeObject {
  const { event_name: name, payload, timestamp = state.now } = parameters;
  const meter = state
    .listObjects('billing.meter')
    .find((one) => one.event_name === name && one.status === 'active');
  if (meter === undefined)
    throw new StripeApiError(`No active meter found for event name ${name}.`, {
      code: 'no_meter',
      param: 'event_name',
    });
  const customer = payload[meter.customer_mapping.event_payload_key];
  if (typeof customer !== 'string')
    throw new StripeApiError('The payload is missing the customer mapping key.', { param: 'payload' });
  customerOf(state, customer);
  const value = payload[meter.value_settings.event_payload_key];
  if (meter.default_aggregation.formula !== 'count' && !/^-?\d+(\.\d{1,12})?$/.test(String(value)))
    throw new StripeApiError('The payload value must be a number.', { param: 'payload' });
  if (timestamp > state.now + eventFutureSecondsMax)
    throw new StripeApiError('The timestamp must be at most 5 minutes in the future.', {
      code: 'timestamp_in_future',
      param: 'timestamp',
    });
  if (timestamp < state.now - eventAgeDaysMax * daySeconds)
    throw new StripeApiError('The timestamp must be within the past 35 calendar days.', {
      code: 'timestamp_too_far_in_past',
      param: 'timestamp',
    });
  const identifier = parameters.identifier ?? state.nextId('mev');
  const isRecent = ({ created }: StripeObject) => created + daySeconds > state.now;
  if (
    state
      .listObjects('billing.meter_event')
      .some((event) => event.identifier === identifier && isRecent(event))
  )
    throw new StripeApiError(`An event already exists with identifier ${identifier}.`, {
      code: 'duplicate_meter_event',
      param: 'identifier',
    });
  return state.add({
    id: state.nextId('mev'),
    object: 'billing.meter_event',
    event_name: name,
    identifier,
    payload,
    timestamp,
  });
}

function eventSummaries(call: StripeRequest) {
  const { state, ids, parameters } = call;
  const { customer, start_time: start, end_time: end } = parameters;
  const value = meteredUsageOf(state, ids[0]!, customer, { start, end });
  const summary: StripeObject = {
    id: state.nextId('mtrusg'),
    object: 'billing.meter_event_summary',
    created: state.now,
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

function createGrant({ state, parameters }: StripeRequest): StripeObject {
  const { amount, customer, expires_at: expiresAt } = parameters;
  customerOf(state, customer);
  if (!(amount.monetary?.value > 0))
    throw new StripeApiError('The amount must be positive.', { param: 'amount[monetary][value]' });
  if (typeof expiresAt === 'number' && expiresAt <= state.now)
    throw new StripeApiError('`expires_at` must be in the future.', { param: 'expires_at' });
  const grant = state.add({
    id: state.nextId('credgr'),
    object: 'billing.credit_grant',
    amount,
    applicability_config: { scope: parameters.applicability_config.scope },
    category: parameters.category ?? 'promotional',
    customer,
    effective_at: parameters.effective_at ?? state.now,
    expires_at: expiresAt ?? null,
    metadata: mergeMetadata({}, parameters.metadata),
    name: parameters.name ?? null,
    priority: parameters.priority ?? 50,
    test_clock: null,
    updated: state.now,
    voided_at: null,
  });
  state.recordEvent('billing.credit_grant.created', grant);
  return grant;
}

function changeGrant({ state, ids }: StripeRequest, change: Record<string, unknown>): StripeObject {
  const grant = state.get('billing.credit_grant', ids[0]!);
  Object.assign(grant, change, { updated: state.now });
  state.recordEvent('billing.credit_grant.updated', grant);
  return grant;
}

/** An expired or voided grant cannot be ended again, and a partly used grant cannot be voided. */
function endGrant(call: StripeRequest, field: 'expires_at' | 'voided_at'): StripeObject {
  const { state, ids } = call;
  const grant = state.get('billing.credit_grant', ids[0]!);
  const isOver = grant.voided_at !== null || (grant.expires_at ?? Number.POSITIVE_INFINITY) <= state.now;
  const isUsed = remainingOf(state, grant) < grant.amount.monetary.value;
  if (isOver || (field === 'voided_at' && isUsed))
    throw new StripeApiError(`This credit grant cannot be ${field === 'voided_at' ? 'voided' : 'expired'}.`);
  return changeGrant(call, { [field]: state.now });
}

function balanceSummary({ state, parameters }: StripeRequest): StripeObject {
  const { customer, filter } = parameters;
  const currency = customerOf(state, customer).currency ?? 'usd';
  const value = applicableGrants(state, customer, currency)
    .filter(({ id }) => filter.type !== 'credit_grant' || id === filter.credit_grant)
    .reduce((sum, grant) => sum + remainingOf(state, grant), 0);
  const balance = { type: 'monetary', monetary: { currency, value } };
  return {
    id: customer,
    object: 'billing.credit_balance_summary',
    balances: [{ available_balance: balance, ledger_balance: balance }],
    customer,
    livemode: false,
  };
}

export const meteredBillingHandlers: Handlers = {
  'Billing/Meters.create': createMeter,
  'Billing/Meters.retrieve': ({ state, ids }) => state.get('billing.meter', ids[0]!),
  'Billing/Meters.update': ({ state, ids, parameters }) =>
    Object.assign(state.get('billing.meter', ids[0]!), pickParameters(parameters, ['display_name']), {
      updated: state.now,
    }),
  'Billing/Meters.list': (call) => {
    const { status } = call.parameters;
    const found = call.state
      .listObjects('billing.meter')
      .filter((meter) => status === undefined || meter.status === status);
    return pageOfObjects(call, found, '/v1/billing/meters');
  },
  'Billing/Meters.deactivate': (call) => setMeterStatus(call, 'inactive'),
  'Billing/Meters.reactivate': (call) => setMeterStatus(call, 'active'),
  'Billing/Meters.listEventSummaries': eventSummaries,
  'Billing/MeterEvents.create': createEvent,
  'Billing/CreditGrants.create': createGrant,
  'Billing/CreditGrants.retrieve': ({ state, ids }) => state.get('billing.credit_grant', ids[0]!),
  'Billing/CreditGrants.update': (call) =>
    changeGrant(call, {
      ...pickParameters(call.parameters, ['expires_at']),
      metadata: mergeMetadata(
        call.state.get('billing.credit_grant', call.ids[0]!).metadata,
        call.parameters.metadata,
      ),
    }),
  'Billing/CreditGrants.expire': (call) => endGrant(call, 'expires_at'),
  'Billing/CreditGrants.voidGrant': (call) => endGrant(call, 'voided_at'),
  'Billing/CreditGrants.list': (call) => {
    const { customer } = call.parameters;
    const found = call.state
      .listObjects('billing.credit_grant')
      .filter((grant) => customer === undefined || grant.customer === customer);
    return pageOfObjects(call, found, '/v1/billing/credit_grants');
  },
  'Billing/CreditBalanceSummary.retrieve': balanceSummary,
};
