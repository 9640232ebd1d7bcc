import type {
  GetEntitlementsCommandInput,
  MarketplaceEntitlementServiceClient,
} from '@aws-sdk/client-marketplace-entitlement-service';
import type { MarketplaceMeteringClient, UsageRecord } from '@aws-sdk/client-marketplace-metering';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { type Egress, egressRefusalIn, refusedByEgress } from '../egress/egress.ts';
import type { AwsOffer, HourOfUse } from '../store/marketplaces.ts';
import { type Tier, tiers } from '../store/organisations.ts';

export interface AwsSettings {
  readonly region: string;
  /** Null: where the SDK finds AWS. */
  readonly endpoint: string | null;
  /** Null: where the SDK finds credentials, such as the role of the machine. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  /** Ours; null for any that the account sells. */
  readonly productCodes: ReadonlySet<string> | null;
  /** Of whoever bought something without contract dimensions. */
  readonly tier: Tier;
  /** Dimensions of contracts and what they entitle to; null where products have none. */
  readonly tiers: ReadonlyMap<string, Tier> | null;
  readonly egress: Pick<Egress, 'agents'>;
  readonly clock: Clock;
}

/** What became of an hour that was reported. `again`: AWS did not take it, and may the next time. */
export interface Reported {
  readonly hour: HourOfUse;
  readonly outcome: 'taken' | 'refused' | 'not subscribed' | 'again';
  readonly reason: string;
}

interface Clients {
  readonly metering: MarketplaceMeteringClient;
  readonly entitlements: MarketplaceEntitlementServiceClient;
  readonly sdk: typeof import('@aws-sdk/client-marketplace-metering');
  readonly entitlementSdk: typeof import('@aws-sdk/client-marketplace-entitlement-service');
}

/** Faults of the very records that were sent: sending them again helps nobody. */
const faultsOfRecords: ReadonlySet<string> = new Set([
  'InvalidUsageDimensionException',
  'InvalidLicenseException',
  'InvalidCustomerIdentifierException',
  'TimestampOutOfBoundsException',
  'InvalidUsageAllocationsException',
]);
/** The reason of what AWS left out of a batch that it took. */
export const unprocessed = 'unprocessed';
const entitlementPagesMax = 20;

/** AWS Marketplace for a seller of SaaS. The SDK is loaded at the first call: most installations never sell there. */
export class AwsMarket {
  readonly #settings: AwsSettings;
  #loading: Promise<Clients> | null = null;

  constructor(settings: AwsSettings) {
    this.#settings = settings;
  }

  /**
   * Who comes with a token. Errors: 400 for one that is unknown, expired or for something else; 502 when AWS does not
   * answer as it should, 503 when it is asked too often.
   */
  async resolve(token: string): Promise<AwsOffer> {
    const { metering, sdk } = await this.#clients();
    const command = new sdk.ResolveCustomerCommand({ RegistrationToken: token });
    const said = await metering.send(command).catch((error: unknown) => {
      throw refusalOf(error);
    });
    const { LicenseArn, CustomerAWSAccountId, ProductCode, CustomerIdentifier } = said;
    if (!LicenseArn || !CustomerAWSAccountId || !ProductCode) {
      throw troubled(new Error('ResolveCustomer names no license'));
    }
    const { productCodes } = this.#settings;
    if (productCodes !== null && !productCodes.has(ProductCode)) {
      throw new AppError('bad_request', 'This was bought for another product.');
    }
    return {
      marketplace: 'aws',
      licenseArn: LicenseArn,
      accountId: CustomerAWSAccountId,
      productCode: ProductCode,
      customerId: CustomerIdentifier || null,
    };
  }

  /** What an agreement entitles to now; null for nothing. Errors: 502, 503. */
  async tierOf(offer: AwsOffer): Promise<Tier | null> {
    const { tiers: byDimension, tier, clock } = this.#settings;
    if (byDimension === null) return tier;
    const now = clock.now();
    let highest = -1;
    for await (const { Dimension = '', ExpirationDate } of this.#entitlements(offer)) {
      const isOver = ExpirationDate !== undefined && ExpirationDate.getTime() <= now;
      const granted = byDimension.get(Dimension);
      if (!isOver && granted !== undefined) highest = Math.max(highest, tiers.indexOf(granted));
    }
    return tiers[highest] ?? null;
  }

  /** Reports at most a batch of hours; says of each what became of it. Never rejects for what AWS says. */
  async report(hours: readonly HourOfUse[]): Promise<Reported[]> {
    const { metering, sdk } = await this.#clients();
    const records = hours.map(recordOf);
    try {
      const { Results = [], UnprocessedRecords = [] } = await metering.send(
        new sdk.BatchMeterUsageCommand({ UsageRecords: records }),
      );
      const left = new Set(UnprocessedRecords.map(nameOf));
      const statuses = new Map(
        Results.map(({ UsageRecord: record, Status }) => [
          record === undefined ? '' : nameOf(record),
          Status,
        ]),
      );
      return hours.map((hour, i) => {
        const name = nameOf(records[i]!);
        const status = left.has(name) ? undefined : statuses.get(name);
        return { hour, outcome: outcomeOf(status), reason: status ?? unprocessed };
      });
    } catch (error) {
      const name = error instanceof Error ? error.name : typeof error;
      if (!faultsOfRecords.has(name)) return hours.map((hour) => ({ hour, outcome: 'again', reason: name }));
      if (hours.length === 1) return hours.map((hour) => ({ hour, outcome: 'refused', reason: name }));
      // One bad record refuses its whole batch: each for itself.
      const each: Reported[] = [];
      for (const hour of hours) each.push(...(await this.report([hour])));
      return each;
    }
  }

  async *#entitlements({ productCode, licenseArn }: AwsOffer) {
    const { entitlements, entitlementSdk } = await this.#clients();
    let token: string | undefined;
    for (let pages = 0; pages < entitlementPagesMax; pages += 1) {
      const input: GetEntitlementsCommandInput = {
        ProductCode: productCode,
        Filter: { LICENSE_ARN: [licenseArn] },
        ...(token === undefined ? {} : { NextToken: token }),
      };
      const command = new entitlementSdk.GetEntitlementsCommand(input);
      const page = await entitlements.send(command).catch((error: unknown) => {
        throw refusalOf(error);
      });
      // An account may have several agreements at once.
      for (const entitlement of page.Entitlements ?? [])
        if ((entitlement.LicenseArn ?? licenseArn) === licenseArn) yield entitlement;
      token = page.NextToken;
      if (!token) return;
    }
  }

  #clients(): Promise<Clients> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  async #load(): Promise<Clients> {
    const { region, endpoint, credentials, egress } = this.#settings;
    const options = {
      region,
      maxAttempts: 4,
      requestHandler: {
        ...egress.agents(),
        connectionTimeout: limits.marketplaceCallMsMax,
        requestTimeout: limits.marketplaceCallMsMax,
      },
      ...(endpoint === null ? {} : { endpoint }),
      ...(credentials === null ? {} : { credentials }),
    };
    const sdk = await import('@aws-sdk/client-marketplace-metering');
    const entitlementSdk = await import('@aws-sdk/client-marketplace-entitlement-service');
    return {
      sdk,
      entitlementSdk,
      metering: new sdk.MarketplaceMeteringClient(options),
      entitlements: new entitlementSdk.MarketplaceEntitlementServiceClient(options),
    };
  }
}

/** With a license there must be no product code beside it: both together bill twice. */
function recordOf({ licenseArn, accountId, hour, dimension, quantity }: HourOfUse): UsageRecord {
  return {
    Timestamp: new Date(hour * 3_600_000),
    CustomerAWSAccountId: accountId,
    LicenseArn: licenseArn,
    Dimension: dimension,
    Quantity: quantity,
  };
}

function nameOf({ LicenseArn, Timestamp, Dimension }: UsageRecord): string {
  return `${LicenseArn} ${Timestamp === undefined ? 0 : Math.floor(Timestamp.getTime() / 3_600_000)} ${Dimension}`;
}

function outcomeOf(status: string | undefined): Reported['outcome'] {
  switch (status) {
    case 'Success':
      return 'taken';
    case 'DuplicateRecord':
      return 'refused';
    case 'CustomerNotSubscribed':
      return 'not subscribed';
    default:
      return 'again';
  }
}

function refusalOf(error: unknown): AppError {
  const refused = egressRefusalIn(error);
  if (refused !== null) return refusedByEgress('AWS Marketplace', refused);
  const name = error instanceof Error ? error.name : '';
  if (name === 'ExpiredTokenException' || name === 'InvalidTokenException') {
    return new AppError(
      'bad_request',
      'The token of AWS Marketplace is unknown or has expired: start again there.',
    );
  }
  if (name === 'ThrottlingException') {
    return new AppError('unavailable', 'AWS Marketplace is asked too often; try again shortly.', {
      retryAfterMs: 30_000,
    });
  }
  return troubled(error);
}

function troubled(cause: unknown): AppError {
  return new AppError('bad_gateway', 'AWS Marketplace does not answer as it should; try again shortly.', {
    cause,
  });
}
