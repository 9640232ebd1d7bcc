import { hash, tables, text, u53, uuid } from './keys.ts';
import type { Tier } from './organisations.ts';
import type { Operation, Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** Somebody bought at AWS Marketplace; `licenseArn` names the agreement for ever. */
export interface AwsOffer {
  readonly marketplace: 'aws';
  readonly licenseArn: string;
  readonly accountId: string;
  readonly productCode: string;
  /** Of products that were listed before there were licenses; null for others. */
  readonly customerId: string | null;
}

/** Somebody installed our integration at Vercel. */
export interface VercelOffer {
  readonly marketplace: 'vercel';
  readonly installationId: string;
  readonly teamId: string | null;
  readonly userId: string | null;
  /** Whose it is, as they are called there; null where Vercel did not say. */
  readonly account?: string | null;
  /** What opens Vercel's API for the installation, sealed. */
  readonly sealedToken: Uint8Array;
  /** Where Vercel wants the browser back. */
  readonly next: string;
}

/** Of the variables of projects at Vercel. What it refused is not asked for again by itself. */
export type VariablesState = 'set' | 'waiting' | 'refused';

export type Offer = AwsOffer | VercelOffer;

/** Somebody came from a marketplace and has not said yet which organisation it is for. */
export interface SignUp {
  /** SHA-256 of what the address holds, lower-case hex. */
  readonly hash: string;
  /** SHA-256 of what the browser that came holds. */
  readonly browserHash: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly offer: Offer;
}

/** What an organisation has at a marketplace. */
export interface Agreement {
  readonly offer: Offer;
  readonly organizationId: string;
  readonly boundAt: number;
  /** Milliseconds since the epoch; null while it lasts. */
  readonly endedAt: number | null;
  /** What it entitles to; null for nothing. */
  readonly tier: Tier | null;
  /** What of that the organisation was given; it differs only until it is. */
  readonly granted: Tier | null;
  /** Number of the first hour since the epoch whose use was not fixed yet. */
  readonly hour: number;
  /** Use that was too little for a whole unit, by dimension. */
  readonly carried: Readonly<Record<string, number>>;
  /** At Vercel; absent where nobody wanted them. */
  readonly variables?: VariablesState;
  /** The API key that they hold, sealed. */
  readonly sealedKey?: Uint8Array;
}

/** Use of one hour, fixed once and for ever before it is reported, so that reporting it again changes nothing. */
export interface HourOfUse {
  readonly licenseArn: string;
  /** Number of the hour since the epoch. */
  readonly hour: number;
  readonly dimension: string;
  readonly quantity: number;
  readonly accountId: string;
}

const signUps = new Table<readonly [hash: string], SignUp>(tables.marketplaceSignUps, [hash]);
const agreements = new Table<readonly [marketplace: string, subject: string], Agreement>(
  tables.marketplaceAgreements,
  [text, text],
);
const agreementsOf = new Table<
  readonly [organizationId: string, marketplace: string, subject: string],
  Uint8Array
>(tables.marketplaceAgreementsOf, [uuid, text, text], bytesCodec);
const hours = new Table<readonly [licenseArn: string, hour: number, dimension: string], HourOfUse>(
  tables.marketplaceHours,
  [text, u53, text],
);
const nothing = new Uint8Array(0);

/** What names an agreement at its marketplace. */
export function subjectOf(offer: Offer): string {
  return offer.marketplace === 'aws' ? offer.licenseArn : offer.installationId;
}

/** Sign-ups, agreements, and use that is to be reported. */
export class MarketplaceRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  signUp(tokenHash: string): SignUp | undefined {
    return signUps.get(this.#store, [tokenHash]);
  }

  putSignUp(signUp: SignUp): Operation[] {
    return [signUps.put([signUp.hash], signUp)];
  }

  /** Those whose time was up by `now`, at most `limit` of them. */
  async expiredSignUps(now: number, limit: number): Promise<Operation[]> {
    const found: Operation[] = [];
    for await (const { value } of signUps.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push(signUps.delete([value.hash]));
      if (found.length === limit) break;
    }
    return found;
  }

  agreement(marketplace: Offer['marketplace'], subject: string): Agreement | undefined {
    return agreements.get(this.#store, [marketplace, subject]);
  }

  /** All of one marketplace. */
  async agreements(marketplace: Offer['marketplace']): Promise<Agreement[]> {
    const found: Agreement[] = [];
    for await (const { value } of agreements.range(this.#store, [marketplace])) found.push(value);
    return found;
  }

  async agreementsOf(organizationId: string): Promise<Agreement[]> {
    const places: (readonly [string, string])[] = [];
    for await (const { key } of agreementsOf.range(this.#store, [organizationId]))
      places.push([key[1], key[2]]);
    return agreements.getMany(this.#store, places).filter((found) => found !== undefined);
  }

  put(agreement: Agreement): Operation[] {
    const { offer, organizationId } = agreement;
    const subject = subjectOf(offer);
    return [
      agreements.put([offer.marketplace, subject], agreement),
      agreementsOf.put([organizationId, offer.marketplace, subject], nothing),
    ];
  }

  delete({ offer, organizationId }: Agreement): Operation[] {
    const subject = subjectOf(offer);
    return [
      agreements.delete([offer.marketplace, subject]),
      agreementsOf.delete([organizationId, offer.marketplace, subject]),
    ];
  }

  /** Up to `limit` that are to be reported, of one license after another. */
  async hours(limit: number): Promise<HourOfUse[]> {
    const found: HourOfUse[] = [];
    for await (const { value } of hours.range(this.#store, [], { limit })) found.push(value);
    return found;
  }

  putHour(hour: HourOfUse): Operation {
    return hours.put([hour.licenseArn, hour.hour, hour.dimension], hour);
  }

  deleteHour({ licenseArn, hour, dimension }: HourOfUse): Operation {
    return hours.delete([licenseArn, hour, dimension]);
  }
}
