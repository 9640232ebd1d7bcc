import { hash, tables, text, u53, uuid } from './keys.ts';
import type { Tier } from './organizations.ts';
import type { Store, WriteOperation } from './store.ts';
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

export type MarketplaceOffer = AwsOffer | VercelOffer;

/** Somebody came from a marketplace and has not said yet which organisation it is for. */
export interface MarketplaceSignUp {
  /** SHA-256 of what the address holds, lower-case hex. */
  readonly hash: string;
  /** SHA-256 of what the browser that came holds. */
  readonly browserHash: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly offer: MarketplaceOffer;
}

/** What an organisation has at a marketplace. */
export interface MarketplaceAgreement {
  readonly offer: MarketplaceOffer;
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
export interface HourlyUsage {
  readonly licenseArn: string;
  /** Number of the hour since the epoch. */
  readonly hour: number;
  readonly dimension: string;
  readonly quantity: number;
  readonly accountId: string;
}

const signUpsTable = new Table<readonly [hash: string], MarketplaceSignUp>(tables.marketplaceSignUps, [hash]);
const agreementsTable = new Table<readonly [marketplace: string, subject: string], MarketplaceAgreement>(
  tables.marketplaceAgreements,
  [text, text],
);
const organizationAgreementsTable = new Table<
  readonly [organizationId: string, marketplace: string, subject: string],
  Uint8Array
>(tables.marketplaceAgreementsOf, [uuid, text, text], bytesCodec);
const hoursTable = new Table<readonly [licenseArn: string, hour: number, dimension: string], HourlyUsage>(
  tables.marketplaceHours,
  [text, u53, text],
);
const emptyBytes = new Uint8Array(0);

/** What names an agreement at its marketplace. */
export function subjectOf(offer: MarketplaceOffer): string {
  return offer.marketplace === 'aws' ? offer.licenseArn : offer.installationId;
}

/** Sign-ups, agreements, and use that is to be reported. */
export class MarketplaceRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  findSignUp(tokenHash: string): MarketplaceSignUp | undefined {
    return signUpsTable.get(this.#store, [tokenHash]);
  }

  putSignUp(signUp: MarketplaceSignUp): WriteOperation[] {
    return [signUpsTable.put([signUp.hash], signUp)];
  }

  /** Those whose time was up by `now`, at most `limit` of them. */
  async deleteExpiredSignUps(now: number, limit: number): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const { value } of signUpsTable.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push(signUpsTable.delete([value.hash]));
      if (found.length === limit) break;
    }
    return found;
  }

  findAgreement(
    marketplace: MarketplaceOffer['marketplace'],
    subject: string,
  ): MarketplaceAgreement | undefined {
    return agreementsTable.get(this.#store, [marketplace, subject]);
  }

  /** All of one marketplace. */
  async listAgreements(marketplace: MarketplaceOffer['marketplace']): Promise<MarketplaceAgreement[]> {
    const found: MarketplaceAgreement[] = [];
    for await (const { value } of agreementsTable.range(this.#store, [marketplace])) found.push(value);
    return found;
  }

  async listAgreementsByOrganization(organizationId: string): Promise<MarketplaceAgreement[]> {
    const keys: (readonly [string, string])[] = [];
    for await (const { key } of organizationAgreementsTable.range(this.#store, [organizationId]))
      keys.push([key[1], key[2]]);
    return agreementsTable.getMany(this.#store, keys).filter((found) => found !== undefined);
  }

  putAgreement(agreement: MarketplaceAgreement): WriteOperation[] {
    const { offer, organizationId } = agreement;
    const subject = subjectOf(offer);
    return [
      agreementsTable.put([offer.marketplace, subject], agreement),
      organizationAgreementsTable.put([organizationId, offer.marketplace, subject], emptyBytes),
    ];
  }

  deleteAgreement({ offer, organizationId }: MarketplaceAgreement): WriteOperation[] {
    const subject = subjectOf(offer);
    return [
      agreementsTable.delete([offer.marketplace, subject]),
      organizationAgreementsTable.delete([organizationId, offer.marketplace, subject]),
    ];
  }

  /** Up to `limit` that are to be reported, of one license after another. */
  async listHours(limit: number): Promise<HourlyUsage[]> {
    const found: HourlyUsage[] = [];
    for await (const { value } of hoursTable.range(this.#store, [], { limit })) found.push(value);
    return found;
  }

  putHour(hour: HourlyUsage): WriteOperation {
    return hoursTable.put([hour.licenseArn, hour.hour, hour.dimension], hour);
  }

  deleteHour({ licenseArn, hour, dimension }: HourlyUsage): WriteOperation {
    return hoursTable.delete([licenseArn, hour, dimension]);
  }
}
