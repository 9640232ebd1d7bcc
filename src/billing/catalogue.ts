import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Tier } from '../store/organisations.ts';
import { type Metric, metrics, type PaidTier, type Plans, paidTiers } from './plans.ts';
import { asking } from './stripe.ts';

/** What metadata of ours say at Stripe. */
export const tierMark = 'quarry_tier';
export const portalMark = 'quarry_portal';

/** Ids of prices, as an account at Stripe has them. */
export interface Catalogue {
  readonly prices: Readonly<Record<PaidTier, string>>;
  readonly metered: readonly string[];
  readonly meteredBy: ReadonlyMap<string, Metric>;
  /** Products whose prices are those of tiers. */
  readonly tierProducts: ReadonlySet<string>;
  /** These, and those of what is metered. */
  readonly products: ReadonlySet<string>;
}

export interface CatalogueReaderOptions {
  readonly stripe: Stripe;
  readonly plans: Plans;
  readonly clock: Clock;
}

/** Finds the prices of the plans by their lookup keys, and remembers them for a while. */
export class CatalogueReader {
  readonly #options: CatalogueReaderOptions;
  #known: { readonly catalogue: Catalogue; readonly at: number } | null = null;

  constructor(options: CatalogueReaderOptions) {
    this.#options = options;
  }

  get plans(): Plans {
    return this.#options.plans;
  }

  /** Errors: 503 while `quarry billing setup` has not made them. */
  async read(): Promise<Catalogue> {
    const now = this.#options.clock.monotonic();
    if (this.#known !== null && now - this.#known.at < limits.billingCatalogueMs)
      return this.#known.catalogue;
    const catalogue = await this.#find();
    this.#known = { catalogue, at: now };
    return catalogue;
  }

  /** The tier of a price: by its lookup key, or by what setup wrote on it before a newer price took the key. */
  tierOf({ lookup_key: key, metadata }: Pick<Stripe.Price, 'lookup_key' | 'metadata'>): Tier | null {
    const { prices } = this.#options.plans;
    const mark = metadata?.[tierMark];
    return paidTiers.find((tier) => key === prices[tier].lookupKey || mark === tier) ?? null;
  }

  /** Whether a subscription is one to a tier; others may be sold to the same customer. */
  isOfTier({ items }: Stripe.Subscription): boolean {
    return items.data.some(({ price }) => this.tierOf(price) !== null);
  }

  async #find(): Promise<Catalogue> {
    const { stripe, plans } = this.#options;
    const meteredKeys = metrics.flatMap((metric) => plans.metered[metric]?.lookupKey ?? []);
    const tierKeys = paidTiers.map((tier) => plans.prices[tier].lookupKey);
    const { data } = await asking(() =>
      stripe.prices.list({ lookup_keys: [...tierKeys, ...meteredKeys], active: true, limit: 100 }),
    );
    const byKey = new Map(data.map((price) => [price.lookup_key, price]));
    const missing = [...tierKeys, ...meteredKeys].filter((key) => !byKey.has(key));
    if (missing.length > 0) {
      throw new AppError('unavailable', 'Payments are not set up yet: the prices are missing at Stripe.', {
        privateDetails: { missing, hint: 'run `quarry billing setup`' },
        shouldRetry: false,
      });
    }
    const price = (key: string) => byKey.get(key) as Stripe.Price;
    const productsOf = (keys: readonly string[]) => new Set(keys.map((key) => idOf(price(key).product)));
    const meteredBy = new Map(
      metrics.flatMap((metric) => {
        const key = plans.metered[metric]?.lookupKey;
        return key === undefined ? [] : [[price(key).id, metric] as const];
      }),
    );
    return {
      prices: {
        starter: price(plans.prices.starter.lookupKey).id,
        teams: price(plans.prices.teams.lookupKey).id,
      },
      metered: [...meteredBy.keys()],
      meteredBy,
      tierProducts: productsOf(tierKeys),
      products: productsOf([...tierKeys, ...meteredKeys]),
    };
  }
}

/** The id of what Stripe gives as an id or, expanded, whole. */
export function idOf(reference: string | { readonly id: string }): string {
  return typeof reference === 'string' ? reference : reference.id;
}
