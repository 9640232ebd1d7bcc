import { readFileSync, statSync } from 'node:fs';
import { AppError } from '../base/app-error.ts';
import { limits as bounds } from '../base/limits.ts';
import { type Tier, tiers } from '../store/organisations.ts';

/** What the tiers cost, and what they allow where the plans file says so. */

/** Tiers that a customer can subscribe to. */
export const paidTiers = ['starter', 'teams'] as const;
export type PaidTier = (typeof paidTiers)[number];

/** What is metered, by the name that replies and identifiers use. */
export const metrics = ['embed', 'rerank'] as const;
export type Metric = (typeof metrics)[number];

/** The names that limits have in the plans file: those of the settings, without their tier. */
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

/** Null is no limit; a name that is absent leaves the limit of the settings. */
export type PlanLimits = { readonly [Name in LimitName]?: number | null };

export interface TierPrice {
  /** How the price is found in Stripe. */
  readonly lookupKey: string;
  /** Of a month, in the smallest unit of the currency. */
  readonly amount: number;
  /** What invoices call it. */
  readonly product: string;
}

export interface MeteredPrice {
  readonly lookupKey: string;
  /** Name of the events of its meter. */
  readonly meter: string;
  readonly product: string;
  /** Of a million tokens in the smallest unit of the currency, as a decimal number of at most six places. */
  readonly perMillion: string;
}

export interface Plans {
  /** Three letters of ISO 4217, lower case. */
  readonly currency: string;
  readonly prices: Readonly<Record<PaidTier, TierPrice>>;
  readonly metered: { readonly [M in Metric]?: MeteredPrice };
  readonly limits: { readonly [T in Tier]?: PlanLimits };
}

/** Those that are money: drawing rights and other units of account are in the list too. */
const currencies: ReadonlySet<string> = new Set(
  Intl.supportedValuesOf('currency')
    .filter((code) => code !== 'XDR' && code !== 'XSU')
    .map((code) => code.toLowerCase()),
);

/** What applies without a plans file; in the form of one. */
const embedded = {
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

/** The plans of this installation. Throws an AppError `invalid` with a line for every fault of the file. */
export function loadPlans(file: string | null): Plans {
  if (file === null) return plansOf(embedded, 'the embedded plans');
  let content: unknown;
  try {
    if (statSync(file).size > bounds.plansFileBytesMax) throw new Error('it is larger than 1 MiB');
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    const why = (cause as Error).message;
    throw new AppError('invalid', `The plans file ${file} cannot be read as JSON: ${why}.`, { cause });
  }
  return plansOf(content, file);
}

export function plansOf(content: unknown, file: string): Plans {
  const reader = new PlanReader(file);
  const plans = reader.read(content);
  if (plans === null || reader.faults.length > 0) throw new AppError('invalid', reader.faults.join('\n'));
  return plans;
}

/** Tokens times a price per million, rounded half up as Stripe rounds a line of an invoice. */
export function chargeOf(tokens: number, perMillion: string): number {
  const [whole = '0', fraction = ''] = perMillion.split('.');
  const millionths = BigInt(whole + fraction.padEnd(6, '0'));
  const scale = 1_000_000_000_000n;
  return Number((BigInt(tokens) * millionths * 2n + scale) / (scale * 2n));
}

/** The price of one token, as Stripe writes it: `perMillion` six places further down. */
export function perToken(perMillion: string): string {
  const [whole = '0', fraction = ''] = perMillion.split('.');
  const digits = whole.padStart(7, '0');
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}${fraction}`;
  return text.replace(/\.?0+$/, '').replace(/^$/, '0');
}

export function rankOf(tier: Tier): number {
  return tiers.indexOf(tier);
}

export function higherTier(one: Tier, other: Tier): Tier {
  return rankOf(one) < rankOf(other) ? other : one;
}

export function isPaid(tier: Tier): tier is PaidTier {
  return tier === 'starter' || tier === 'teams';
}

type Json = Readonly<Record<string, unknown>>;

/** Reads a plans file and notes what is wrong in it: where, what it says, what is allowed. */
class PlanReader {
  readonly faults: string[] = [];
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  read(content: unknown): Plans | null {
    const file = this.#fields(content, 'the file', ['currency', 'tiers', 'metered']);
    if (file === null) return null;
    const currency = this.#currency(file.currency);
    const given = this.#fields(file.tiers, 'tiers', tiers);
    if (given === null) return null;
    const limits: Partial<Record<Tier, PlanLimits>> = {};
    const prices: Partial<Record<PaidTier, TierPrice>> = {};
    for (const tier of tiers) {
      const found = this.#fields(
        given[tier] ?? {},
        `tiers.${tier}`,
        isPaid(tier) ? ['price', 'limits'] : ['limits'],
      );
      if (found === null) continue;
      if (found.limits !== undefined) limits[tier] = this.#limits(found.limits, `tiers.${tier}.limits`);
      if (isPaid(tier)) prices[tier] = this.#price(found.price, `tiers.${tier}.price`);
    }
    const metered = this.#metered(file.metered ?? {});
    this.#checkUnique(prices, metered);
    this.#checkRising(prices);
    return { currency, prices: prices as Plans['prices'], metered, limits };
  }

  #currency(given: unknown): string {
    const allowed = 'three letters of a currency of ISO 4217 such as "usd"';
    const currency = this.#text(given, 'currency', /^[a-z]{3}$/, allowed);
    if (currency !== '' && !currencies.has(currency)) this.#fault('currency', given, allowed);
    return currency;
  }

  #price(given: unknown, where: string): TierPrice {
    const price = this.#fields(given, where, ['lookupKey', 'amount', 'product']) ?? {};
    return {
      lookupKey: this.#key(price.lookupKey, `${where}.lookupKey`),
      amount: this.#whole(price.amount, `${where}.amount`, { from: 1, to: 99_999_999 }),
      product: this.#text(price.product, `${where}.product`, /^.{1,250}$/, 'a text of 1 to 250 characters'),
    };
  }

  #metered(given: unknown): Plans['metered'] {
    const found = this.#fields(given, 'metered', metrics) ?? {};
    const read: Partial<Record<Metric, MeteredPrice>> = {};
    for (const metric of metrics) {
      if (found[metric] === undefined) continue;
      const where = `metered.${metric}`;
      const price = this.#fields(found[metric], where, ['lookupKey', 'meter', 'product', 'perMillion']) ?? {};
      const decimal = 'a decimal number as a text, such as "2.5", of at most six places';
      read[metric] = {
        lookupKey: this.#key(price.lookupKey, `${where}.lookupKey`),
        meter: this.#text(
          price.meter,
          `${where}.meter`,
          /^[\w-]{1,100}$/,
          'letters, digits, _ and -, at most 100',
        ),
        product: this.#text(price.product, `${where}.product`, /^.{1,250}$/, 'a text of 1 to 250 characters'),
        perMillion: this.#text(price.perMillion, `${where}.perMillion`, /^\d{1,9}(\.\d{1,6})?$/, decimal),
      };
    }
    return read;
  }

  #limits(given: unknown, where: string): PlanLimits {
    const found = this.#fields(given, where, limitNames) ?? {};
    const read: Partial<Record<LimitName, number | null>> = {};
    for (const name of limitNames) {
      const limit = found[name];
      if (limit === undefined) continue;
      read[name] =
        limit === null
          ? null
          : this.#whole(limit, `${where}.${name}`, { from: 1, to: Number.MAX_SAFE_INTEGER });
    }
    const { bytesPerMinuteFast: fast, bytesPerMinuteSlow: slow } = read;
    if (typeof fast === 'number' && typeof slow === 'number' && slow < fast)
      this.#fault(`${where}.bytesPerMinuteSlow`, slow, `at least bytesPerMinuteFast, which is ${fast}`);
    return read;
  }

  /** Or who raises a tier would be paid for it. */
  #checkRising({ starter, teams }: Partial<Plans['prices']>): void {
    if (starter !== undefined && teams !== undefined && teams.amount < starter.amount)
      this.#fault(
        'tiers.teams.price.amount',
        teams.amount,
        `at least that of starter, which is ${starter.amount}`,
      );
  }

  #checkUnique(prices: Partial<Plans['prices']>, metered: Plans['metered']): void {
    const keys = [...Object.values(prices), ...Object.values(metered)].map(({ lookupKey }) => lookupKey);
    const meters = Object.values(metered).map(({ meter }) => meter);
    for (const names of [keys, meters]) {
      const twice = names.find((name, i) => names.indexOf(name) !== i);
      if (twice !== undefined)
        this.faults.push(`${this.#file}: "${twice}" stands for two prices; each needs its own.`);
    }
  }

  #key(given: unknown, where: string): string {
    return this.#text(given, where, /^[\w.:-]{1,200}$/, 'letters, digits, and _ . : - , at most 200');
  }

  #text(given: unknown, where: string, pattern: RegExp, allowed: string): string {
    if (typeof given === 'string' && pattern.test(given)) return given;
    this.#fault(where, given, allowed);
    return '';
  }

  #whole(
    given: unknown,
    where: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): number {
    if (Number.isSafeInteger(given) && (given as number) >= from && (given as number) <= to)
      return given as number;
    this.#fault(where, given, `a whole number from ${from} to ${to}`);
    return from;
  }

  /** An object with no other names than these; null when it is none. */
  #fields(given: unknown, where: string, names: readonly string[]): Json | null {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      this.#fault(where, given, 'an object');
      return null;
    }
    for (const name of Object.keys(given))
      if (!names.includes(name))
        this.#fault(`${where}.${name}`, (given as Json)[name], `only ${names.join(', ')}`);
    return given as Json;
  }

  #fault(where: string, given: unknown, allowed: string): void {
    const shown = given === undefined ? 'missing' : JSON.stringify(given).slice(0, 100);
    this.faults.push(`${this.#file}: ${where} is ${shown}; allowed is ${allowed}.`);
  }
}
