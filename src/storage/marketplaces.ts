import { hash, tables, text, u53, uuid } from './keys.ts';
import type { Tier } from './organizations.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** A purchase in AWS Marketplace; `licenseArn` identifies the agreement permanently. */
export interface AwsOffer {
  readonly marketplace: 'aws';
  readonly licenseArn: string;
  readonly accountId: string;
  readonly productCode: string;
  /** For products listed before AWS introduced licenses; null for others. */
  readonly customerId: string | null;
}

/** An installation of the integration in Vercel. */
export interface VercelOffer {
  readonly marketplace: 'vercel';
  readonly installationId: string;
  readonly teamId: string | null;
  readonly userId: string | null;
  /** Display name of the account in Vercel; null if not provided. */
  readonly account?: string | null;
  /** Access token for Vercel's API for the installation, sealed. */
  readonly sealedToken: Uint8Array;
  /** URL to which Vercel expects the browser to return. */
  readonly next: string;
}

/** State of the environment variables in projects in Vercel. Refused ones are not retried automatically. */
export type VariablesState = 'set' | 'waiting' | 'refused';

export type MarketplaceOffer = AwsOffer | VercelOffer;

/** A sign-up from a marketplace that is not assigned to an organization yet. */
export interface MarketplaceSignUp {
  /** SHA-256 of the token in the URL, lower-case hex. */
  readonly hash: string;
  /** SHA-256 of the token held by the browser. */
  readonly browserHash: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly offer: MarketplaceOffer;
}

/** Agreement of an organization at a marketplace. */
export interface MarketplaceAgreement {
  readonly offer: MarketplaceOffer;
  readonly organizationId: string;
  readonly boundAt: number;
  /** Milliseconds since the epoch; null while it is active. */
  readonly endedAt: number | null;
  /** Tier covered by the agreement; null for none. */
  readonly tier: Tier | null;
  /** Tier granted to the organization; differs from `tier` only until it is applied. */
  readonly granted: Tier | null;
  /** Number of the first hour since the epoch whose usage is not final yet. */
  readonly hour: number;
  /** Usage below one whole unit, carried over, by dimension. */
  readonly carried: Readonly<Record<string, number>>;
  /** State of the variables in Vercel; absent if they were not requested. */
  readonly variables?: VariablesState;
  /** API key stored in the variables, sealed. */
  readonly sealedKey?: Uint8Array;
}

/** Usage of one hour, fixed permanently before it is reported, so that reporting is idempotent. */
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

/** Returns the identifier of an agreement at its marketplace. */
export function subjectOf(offer: MarketplaceOffer): string {
  return offer.marketplace === 'aws' ? offer.licenseArn : offer.installationId;
}

/** Sign-ups, agreements, and usage to be reported. */
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

  /** Returns operations that delete up to `limit` sign-ups that expired by `now`. */
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

  /** Returns all agreements of a marketplace. */
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

  /** Returns up to `limit` hours to be reported, ordered by license. */
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
