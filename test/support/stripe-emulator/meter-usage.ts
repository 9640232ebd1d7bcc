import type { StripeObject, StripeState } from './stripe-state.ts';

/** Usage counted by a meter for a customer in a period, end excluded. */
export function meteredUsageOf(
  state: StripeState,
  meterId: string,
  customer: string,
  period: { readonly start: number; readonly end: number },
): number {
  const meter = state.get('billing.meter', meterId);
  const events = eventsOf(state, meter, customer).filter(
    ({ timestamp }) => timestamp >= period.start && timestamp < period.end,
  );
  const values = events.map((event) => Number(event.payload[meter.value_settings.event_payload_key] ?? 1));
  switch (meter.default_aggregation.formula) {
    case 'count':
      return values.length;
    case 'last':
      return values.at(-1) ?? 0;
    default:
      return values.reduce((sum, value) => sum + value, 0);
  }
}

function eventsOf(state: StripeState, meter: StripeObject, customer: string): StripeObject[] {
  const key = meter.customer_mapping.event_payload_key;
  return state
    .listObjects('billing.meter_event')
    .filter((event) => event.event_name === meter.event_name && event.payload[key] === customer);
}
