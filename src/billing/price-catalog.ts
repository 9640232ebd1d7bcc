import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Tier } from '../storage/organizations.ts';
import { type BilledMetric, billedMetrics, type PaidTier, type Plans, paidTiers } from './plans.ts';
import { mapStripeErrors } from './stripe.ts';

/** Metadata keys written to Stripe objects by this server. */
export const tierMetadataKey = 'quarry_tier';
export const portalMetadataKey = 'quarry_portal';

/** Ids of prices and products in the Stripe account. */
export interface PriceCatalog {
  readonly prices: Readonly<Record<PaidTier, string>>;
  readonly meteredPriceIds: readonly string[];
  readonly metricByPriceId: ReadonlyMap<string, BilledMetric>;
  /** Products of the tier prices. */
  readonly tierProductIds: ReadonlySet<string>;
  /** Products of the tier prices and the metered prices. */
  readonly productIds: ReadonlySet<string>;
}

export interface PriceCatalogReaderOptions {
  readonly stripe: Stripe;
  readonly plans: Plans;
  readonly clock: Clock;
}

/** Finds the prices of the plans by their lookup keys. Cached for `billingCatalogMs`. */
export class PriceCatalogReader {
  readonly #options: PriceCatalogReaderOptions;
  #cached: { readonly catalog: PriceCatalog; readonly at: number } | null = null;

  constructor(options: PriceCatalogReaderOptions) {
    this.#options = options;
  }

  get plans(): Plans {
    return this.#options.plans;
  }

  /** Errors: 503 until `quarry billing setup` has created the prices. */
  async read(): Promise<PriceCatalog> {
    const now = this.#options.clock.monotonic();
    if (this.#cached !== null && now - this.#cached.at < limits.billingCatalogMs) return this.#cached.catalog;
    const catalog = await this.#find();
    this.#cached = { catalog, at: now };
    return catalog;
  }

  /**
   * Returns the tier of a price by its lookup key, or by the metadata written by setup if a newer price has
   * taken the key.
   */
  tierOf({ lookup_key: key, metadata }: Pick<Stripe.Price, 'lookup_key' | 'metadata'>): Tier | null {
    const { prices } = this.#options.plans;
    const tierLabel = metadata?.[tierMetadataKey];
    return paidTiers.find((tier) => key === prices[tier].lookupKey || tierLabel === tier) ?? null;
  }

  /** Whether a subscription is for a tier. The same customer may have subscriptions to other products. */
  hasTierPrice({ items }: Stripe.Subscription): boolean {
    return items.data.some(({ price }) => this.tierOf(price) !== null);
  }

  async #find(): Promise<PriceCatalog> {
    const { stripe, plans } = this.#options;
    const meteredKeys = billedMetrics.flatMap((metric) => plans.metered[metric]?.lookupKey ?? []);
    const tierKeys = paidTiers.map((tier) => plans.prices[tier].lookupKey);
    const { data } = await mapStripeErrors(() =>
      stripe.prices.list({ lookup_keys: [...tierKeys, ...meteredKeys], active: true, limit: 100 }),
    );
    const byKey = new Map(data.map((price) => [price.lookup_key, price]));
    const missing = [...tierKeys, ...meteredKeys].filter((key) => !byKey.has(key));
    if (missing.length > 0) {
      throw new AppError(
        'unavailable',
        'Payments are not set up: the prices are missing in Stripe. Ask the operator to run "quarry billing setup".',
        {
          privateDetails: { missing, hint: 'run `quarry billing setup`' },
          shouldRetry: false,
        },
      );
    }
    const price = (key: string) => byKey.get(key) as Stripe.Price;
    const productsOf = (keys: readonly string[]) => new Set(keys.map((key) => idOf(price(key).product)));
    const metricByPriceId = new Map(
      billedMetrics.flatMap((metric) => {
        const key = plans.metered[metric]?.lookupKey;
        return key === undefined ? [] : [[price(key).id, metric] as const];
      }),
    );
    return {
      prices: {
        starter: price(plans.prices.starter.lookupKey).id,
        teams: price(plans.prices.teams.lookupKey).id,
      },
      meteredPriceIds: [...metricByPriceId.keys()],
      metricByPriceId,
      tierProductIds: productsOf(tierKeys),
      productIds: productsOf([...tierKeys, ...meteredKeys]),
    };
  }
}

/** Returns the id of a reference that Stripe returns as an id or as an expanded object. */
export function idOf(reference: string | { readonly id: string }): string {
  return typeof reference === 'string' ? reference : reference.id;
}
