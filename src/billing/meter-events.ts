import type Stripe from 'stripe';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { PendingMeterEvents } from '../storage/billing.ts';
import { type BilledMetric, billedMetrics, type MeteredPrice, type Plans } from './plans.ts';
import { mapStripeErrors, StripeRejectedError } from './stripe.ts';

export interface MeterEventSenderOptions {
  readonly stripe: Stripe;
  readonly plans: Plans;
  readonly clock: Clock;
  readonly logger: Logger;
}

const minuteSeconds = 60;

/** Sends usage to the Stripe meters. Idempotent: repeated events count once. */
export class MeterEventSender {
  readonly #options: MeterEventSenderOptions;

  constructor(options: MeterEventSenderOptions) {
    this.#options = options;
  }

  /** Errors: those of Stripe. */
  async send(organizationId: string, pendingEvents: PendingMeterEvents): Promise<void> {
    for (const metric of billedMetrics) {
      const price = this.#options.plans.metered[metric];
      if (price !== undefined && pendingEvents.tokens[metric] > 0)
        await this.#sendOne(organizationId, pendingEvents, { metric, price });
    }
  }

  async #sendOne(
    organizationId: string,
    pendingEvents: PendingMeterEvents,
    { metric, price }: { readonly metric: BilledMetric; readonly price: MeteredPrice },
  ): Promise<void> {
    const { stripe, clock, logger } = this.#options;
    const identifier = buildIdentifier(organizationId, metric, pendingEvents);
    const mayBeExpired = clock.now() - pendingEvents.notedAt > limits.meterIdentifierMsMax;
    if (mayBeExpired && (await this.#isAlreadyCounted(pendingEvents, metric, price.meter))) {
      logger.info({ identifier }, 'usage was already counted by Stripe');
      return;
    }
    try {
      await mapStripeErrors(() =>
        stripe.billing.meterEvents.create({
          event_name: price.meter,
          identifier,
          timestamp: pendingEvents.timestamp,
          payload: {
            stripe_customer_id: pendingEvents.customerId,
            value: String(pendingEvents.tokens[metric]),
          },
        }),
      );
    } catch (error) {
      if (!(error instanceof StripeRejectedError) || !isDuplicateIdentifier(error)) throw error;
      logger.debug({ identifier }, 'usage was already reported to Stripe');
    }
  }

  /**
   * Compares with the meter total for the minute. After a day, Stripe no longer uses identifiers to detect
   * duplicates.
   */
  async #isAlreadyCounted(
    pendingEvents: PendingMeterEvents,
    metric: BilledMetric,
    eventName: string,
  ): Promise<boolean> {
    const { stripe } = this.#options;
    const meter = await findMeter(stripe, eventName);
    if (meter === null) return false;
    const start = Math.floor(pendingEvents.timestamp / minuteSeconds) * minuteSeconds;
    const { data } = await mapStripeErrors(() =>
      stripe.billing.meters.listEventSummaries(meter.id, {
        customer: pendingEvents.customerId,
        start_time: start,
        end_time: start + minuteSeconds,
      }),
    );
    const counted = data.reduce((sum, { aggregated_value: value }) => sum + value, 0);
    return counted >= pendingEvents.before.reported[metric] + pendingEvents.tokens[metric];
  }
}

/** Returns the active meter for an event name; null without one. */
export function findMeter(stripe: Stripe, eventName: string): Promise<Stripe.Billing.Meter | null> {
  return mapStripeErrors(async () => {
    for await (const meter of stripe.billing.meters.list({ status: 'active', limit: 100 }))
      if (meter.event_name === eventName) return meter;
    return null;
  });
}

/** Pauses split a minute into several reports, which differ in the token count that they start from. */
function buildIdentifier(
  organizationId: string,
  metric: BilledMetric,
  { minute, before }: PendingMeterEvents,
): string {
  const stamp = new Date(minute * minuteSeconds * 1_000).toISOString().replace(/\D/g, '').slice(0, 12);
  const from = before.accounted[metric];
  return `${organizationId}:${metric}:${stamp}${from === 0 ? '' : `:${from}`}`;
}

function isDuplicateIdentifier({ stripeMessage: message }: StripeRejectedError): boolean {
  return /identifier/i.test(message) && /already|duplicate|exist/i.test(message);
}
