import { readFileSync, statSync } from 'node:fs';
import { AppError } from '../core/app-error.ts';
import { isObject } from '../core/is-object.ts';
import { limits as bounds } from '../core/limits.ts';
import { type Tier, tiers } from '../storage/organizations.ts';

/** Prices of the tiers, and their limits if the plans file sets them. */

/** Tiers that a customer can subscribe to. */
export const paidTiers = ['starter', 'teams'] as const;
export type PaidTier = (typeof paidTiers)[number];

/** Metered quantities, by their names in replies and identifiers. */
export const billedMetrics = ['embed', 'rerank'] as const;
export type BilledMetric = (typeof billedMetrics)[number];

/** Names of limits in the plans file: those of the settings without the tier. */
const limitNames = [
  'bytesPerMinuteFast',
  'bytesPerMinuteSlow',
  'rerankRequestsPerMinute',
  'requestsPerMinute',
  'queriesPerMinute',
  'documentBytesPerMinute',
  'documentsMax',
  'storageBytesMax',
  'ingestDocumentsMax',
] as const;
type LimitName = (typeof limitNames)[number];

/** Null: unlimited. A missing name keeps the limit of the settings. */
export type PlanLimits = { readonly [Name in LimitName]?: number | null };

export interface TierPrice {
  /** Key by which the price is found in Stripe. */
  readonly lookupKey: string;
  /** Price per month in the smallest unit of the currency. */
  readonly amount: number;
  /** Product name on invoices. */
  readonly product: string;
}

export interface MeteredPrice {
  readonly lookupKey: string;
  /** Event name of the meter. */
  readonly meter: string;
  readonly product: string;
  /**
   * Price per million tokens in the smallest unit of the currency, as a decimal number with at most six
   * decimal places.
   */
  readonly perMillion: string;
}

export interface Plans {
  /** ISO 4217 code in lower case. */
  readonly currency: string;
  readonly prices: Readonly<Record<PaidTier, TierPrice>>;
  readonly metered: { readonly [M in BilledMetric]?: MeteredPrice };
  readonly limits: { readonly [T in Tier]?: PlanLimits };
}

/** Currency codes that are money. Excludes special drawing rights and other units of account in the list. */
const currencies: ReadonlySet<string> = new Set(
  Intl.supportedValuesOf('currency')
    .filter((code) => code !== 'XDR' && code !== 'XSU')
    .map((code) => code.toLowerCase()),
);

/** Plans without a plans file, in the format of a plans file. */
const defaultPlans = {
  currency: 'usd',
  tiers: {
    free: {},
    starter: { price: { lookupKey: 'quarry_starter_monthly', amount: 5_000, product: 'Quarry Starter' } },
    teams: { price: { lookupKey: 'quarry_teams_monthly', amount: 20_000, product: 'Quarry Teams' } },
    enterprise: {},
  },
  metered: {
    embed: {
      lookupKey: 'quarry_embed_tokens',
      meter: 'quarry_embed_tokens',
      product: 'Embedding tokens',
      perMillion: '5',
    },
    rerank: {
      lookupKey: 'quarry_rerank_tokens',
      meter: 'quarry_rerank_tokens',
      product: 'Reranking tokens',
      perMillion: '2.5',
    },
  },
};

/**
 * Returns the plans of this installation. Throws an `AppError` `invalid` with one line per error in the file.
 */
export function loadPlans(file: string | null): Plans {
  if (file === null) return parsePlans(defaultPlans, 'the built-in plans');
  let content: unknown;
  try {
    if (statSync(file).size > bounds.plansFileBytesMax) throw new Error('it is larger than 1 MiB');
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new AppError('invalid', `The plans file ${file} cannot be read as JSON: ${reason}.`, { cause });
  }
  return parsePlans(content, file);
}

export function parsePlans(content: unknown, file: string): Plans {
  const parser = new PlansParser(file);
  const plans = parser.read(content);
  if (plans === null || parser.errors.length > 0) throw new AppError('invalid', parser.errors.join('\n'));
  return plans;
}

/** Multiplies tokens by a price per million, rounded half up as Stripe rounds invoice lines. */
export function computeCharge(tokens: number, perMillion: string): number {
  const [whole = '0', fraction = ''] = perMillion.split('.');
  const millionths = BigInt(whole + fraction.padEnd(6, '0'));
  const scale = 1_000_000_000_000n;
  return Number((BigInt(tokens) * millionths * 2n + scale) / (scale * 2n));
}

/**
 * Returns the price of one token in the notation of Stripe: `perMillion` with the decimal point moved six
 * places left.
 */
export function toPricePerToken(perMillion: string): string {
  const [whole = '0', fraction = ''] = perMillion.split('.');
  const digits = whole.padStart(7, '0');
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}${fraction}`;
  return text.replace(/\.?0+$/, '').replace(/^$/, '0');
}

export function tierRank(tier: Tier): number {
  return tiers.indexOf(tier);
}

export function higherTier(one: Tier, other: Tier): Tier {
  return tierRank(one) < tierRank(other) ? other : one;
}

export function isPaidTier(tier: Tier): tier is PaidTier {
  return tier === 'starter' || tier === 'teams';
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Parses a plans file and collects its errors: path, value, allowed values. */
class PlansParser {
  readonly errors: string[] = [];
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  read(content: unknown): Plans | null {
    const file = this.#fields(content, 'the file', ['currency', 'tiers', 'metered']);
    if (file === null) return null;
    const currency = this.#currency(file.currency);
    const tierFields = this.#fields(file.tiers, 'tiers', tiers);
    if (tierFields === null) return null;
    const limits: Partial<Record<Tier, PlanLimits>> = {};
    const prices: Partial<Record<PaidTier, TierPrice>> = {};
    for (const tier of tiers) {
      const fields = this.#fields(
        tierFields[tier] ?? {},
        `tiers.${tier}`,
        isPaidTier(tier) ? ['price', 'limits'] : ['limits'],
      );
      if (fields === null) continue;
      if (fields.limits !== undefined) limits[tier] = this.#limits(fields.limits, `tiers.${tier}.limits`);
      if (isPaidTier(tier)) prices[tier] = this.#price(fields.price, `tiers.${tier}.price`);
    }
    const metered = this.#metered(file.metered ?? {});
    this.#checkUnique(prices, metered);
    this.#checkPricesIncrease(prices);
    return { currency, prices: prices as Plans['prices'], metered, limits };
  }

  #currency(value: unknown): string {
    const allowed = 'a three-letter ISO 4217 currency code in lower case, such as "usd"';
    const currency = this.#text(value, 'currency', /^[a-z]{3}$/, allowed);
    if (currency !== '' && !currencies.has(currency)) this.#addError('currency', value, allowed);
    return currency;
  }

  #price(value: unknown, path: string): TierPrice {
    const price = this.#fields(value, path, ['lookupKey', 'amount', 'product']) ?? {};
    return {
      lookupKey: this.#key(price.lookupKey, `${path}.lookupKey`),
      amount: this.#integer(price.amount, `${path}.amount`, { from: 1, to: 99_999_999 }),
      product: this.#text(price.product, `${path}.product`, /^.{1,250}$/, 'a string of 1 to 250 characters'),
    };
  }

  #metered(value: unknown): Plans['metered'] {
    const found = this.#fields(value, 'metered', billedMetrics) ?? {};
    const read: Partial<Record<BilledMetric, MeteredPrice>> = {};
    for (const metric of billedMetrics) {
      if (found[metric] === undefined) continue;
      const path = `metered.${metric}`;
      const price = this.#fields(found[metric], path, ['lookupKey', 'meter', 'product', 'perMillion']) ?? {};
      const decimal = 'a decimal number as a string, such as "2.5", with at most six decimal places';
      read[metric] = {
        lookupKey: this.#key(price.lookupKey, `${path}.lookupKey`),
        meter: this.#text(
          price.meter,
          `${path}.meter`,
          /^[\w-]{1,100}$/,
          'letters, digits, _ and -, at most 100',
        ),
        product: this.#text(
          price.product,
          `${path}.product`,
          /^.{1,250}$/,
          'a string of 1 to 250 characters',
        ),
        perMillion: this.#text(price.perMillion, `${path}.perMillion`, /^\d{1,9}(\.\d{1,6})?$/, decimal),
      };
    }
    return read;
  }

  #limits(value: unknown, path: string): PlanLimits {
    const found = this.#fields(value, path, limitNames) ?? {};
    const read: Partial<Record<LimitName, number | null>> = {};
    for (const name of limitNames) {
      const limit = found[name];
      if (limit === undefined) continue;
      read[name] =
        limit === null
          ? null
          : this.#integer(limit, `${path}.${name}`, { from: 1, to: Number.MAX_SAFE_INTEGER });
    }
    const { bytesPerMinuteFast: fast, bytesPerMinuteSlow: slow } = read;
    if (typeof fast === 'number' && typeof slow === 'number' && slow < fast)
      this.#addError(`${path}.bytesPerMinuteSlow`, slow, `at least bytesPerMinuteFast, which is ${fast}`);
    return read;
  }

  /** An upgrade to a cheaper tier would result in a refund. */
  #checkPricesIncrease({ starter, teams }: Partial<Plans['prices']>): void {
    if (starter !== undefined && teams !== undefined && teams.amount < starter.amount)
      this.#addError(
        'tiers.teams.price.amount',
        teams.amount,
        `at least that of starter, which is ${starter.amount}`,
      );
  }

  #checkUnique(prices: Partial<Plans['prices']>, metered: Plans['metered']): void {
    const keys = [...Object.values(prices), ...Object.values(metered)].map(({ lookupKey }) => lookupKey);
    const meters = Object.values(metered).map(({ meter }) => meter);
    for (const names of [keys, meters]) {
      const duplicate = names.find((name, i) => names.indexOf(name) !== i);
      if (duplicate !== undefined)
        this.errors.push(
          `${this.#file}: "${duplicate}" is used for two prices. Each price needs its own lookup key.`,
        );
    }
  }

  #key(value: unknown, path: string): string {
    return this.#text(value, path, /^[\w.:-]{1,200}$/, 'letters, digits, and _ . : - , at most 200');
  }

  #text(value: unknown, path: string, pattern: RegExp, allowed: string): string {
    if (typeof value === 'string' && pattern.test(value)) return value;
    this.#addError(path, value, allowed);
    return '';
  }

  #integer(
    value: unknown,
    path: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): number {
    if (Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to)
      return value as number;
    this.#addError(path, value, `a whole number from ${from} to ${to}`);
    return from;
  }

  /** Returns an object that has no names except these, or null if the value is not an object. */
  #fields(value: unknown, path: string, names: readonly string[]): JsonObject | null {
    if (!isObject(value)) {
      this.#addError(path, value, 'an object');
      return null;
    }
    for (const name of Object.keys(value))
      if (!names.includes(name))
        this.#addError(`${path}.${name}`, (value as JsonObject)[name], `only ${names.join(', ')}`);
    return value as JsonObject;
  }

  #addError(path: string, value: unknown, allowed: string): void {
    const valueText = value === undefined ? 'missing' : JSON.stringify(value).slice(0, 100);
    this.errors.push(`${this.#file}: ${path} is ${valueText}; expected ${allowed}.`);
  }
}
