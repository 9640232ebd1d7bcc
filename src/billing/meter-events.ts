import type Stripe from 'stripe';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { MeterSending } from '../store/billing.ts';
import { type MeteredPrice, type Metric, metrics, type Plans } from './plans.ts';
import { asking, StripeRefusal } from './stripe.ts';

export interface MeterEventsOptions {
  readonly stripe: Stripe;
  readonly plans: Plans;
  readonly clock: Clock;
  readonly logger: Logger;
}

const minuteSeconds = 60;

/** Sends usage to the meters of Stripe, so that sending the same again counts once. */
export class MeterEvents {
  readonly #options: MeterEventsOptions;

  constructor(options: MeterEventsOptions) {
    this.#options = options;
  }

  /** Errors: those of Stripe. */
  async send(organizationId: string, sending: MeterSending): Promise<void> {
    for (const metric of metrics) {
      const price = this.#options.plans.metered[metric];
      if (price !== undefined && sending.tokens[metric] > 0)
        await this.#sendOne(organizationId, sending, { metric, price });
    }
  }

  async #sendOne(
    organizationId: string,
    sending: MeterSending,
    { metric, price }: { readonly metric: Metric; readonly price: MeteredPrice },
  ): Promise<void> {
    const { stripe, clock, logger } = this.#options;
    const identifier = identifierOf(organizationId, metric, sending);
    const mayBeForgotten = clock.now() - sending.notedAt > limits.meterIdentifierMsMax;
    if (mayBeForgotten && (await this.#isCounted(sending, metric, price.meter))) {
      logger.info({ identifier }, 'Stripe has counted this usage already');
      return;
    }
    try {
      await asking(() =>
        stripe.billing.meterEvents.create({
          event_name: price.meter,
          identifier,
          timestamp: sending.timestamp,
          payload: { stripe_customer_id: sending.customerId, value: String(sending.tokens[metric]) },
        }),
      );
    } catch (error) {
      if (!(error instanceof StripeRefusal) || !isKnownAlready(error)) throw error;
      logger.debug({ identifier }, 'Stripe knows this usage already');
    }
  }

  /** By what the meter sums up for the minute: after a day an identifier says nothing any more. */
  async #isCounted(sending: MeterSending, metric: Metric, eventName: string): Promise<boolean> {
    const { stripe } = this.#options;
    const meter = await findMeter(stripe, eventName);
    if (meter === null) return false;
    const start = Math.floor(sending.timestamp / minuteSeconds) * minuteSeconds;
    const { data } = await asking(() =>
      stripe.billing.meters.listEventSummaries(meter.id, {
        customer: sending.customerId,
        start_time: start,
        end_time: start + minuteSeconds,
      }),
    );
    const counted = data.reduce((sum, { aggregated_value: value }) => sum + value, 0);
    return counted >= sending.before.reported[metric] + sending.tokens[metric];
  }
}

/** The active meter of events of a name. */
export function findMeter(stripe: Stripe, eventName: string): Promise<Stripe.Billing.Meter | null> {
  return asking(async () => {
    for await (const meter of stripe.billing.meters.list({ status: 'active', limit: 100 }))
      if (meter.event_name === eventName) return meter;
    return null;
  });
}

/** A minute is reported in several parts where pauses divide it: each begins at another number of tokens. */
function identifierOf(organizationId: string, metric: Metric, { minute, before }: MeterSending): string {
  const stamp = new Date(minute * minuteSeconds * 1_000).toISOString().replace(/\D/g, '').slice(0, 12);
  const from = before.accounted[metric];
  return `${organizationId}:${metric}:${stamp}${from === 0 ? '' : `:${from}`}`;
}

function isKnownAlready({ sentence }: StripeRefusal): boolean {
  return /identifier/i.test(sentence) && /already|duplicate|exist/i.test(sentence);
}
