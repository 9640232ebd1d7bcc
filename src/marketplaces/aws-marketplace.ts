import type {
  GetEntitlementsCommandInput,
  MarketplaceEntitlementServiceClient,
} from '@aws-sdk/client-marketplace-entitlement-service';
import type { MarketplaceMeteringClient, UsageRecord } from '@aws-sdk/client-marketplace-metering';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { type Egress, egressDeniedError, findEgressDenial } from '../egress/egress.ts';
import type { AwsOffer, HourlyUsage } from '../storage/marketplaces.ts';
import { type Tier, tiers } from '../storage/organizations.ts';

export interface AwsMarketplaceSettings {
  readonly region: string;
  /** Null: default endpoint of the SDK. */
  readonly endpoint: string | null;
  /** Null: default credentials of the SDK, such as the role of the machine. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  /** Product codes sold by this server; null for every product of the account. */
  readonly productCodes: ReadonlySet<string> | null;
  /** Tier of purchases without contract dimensions. */
  readonly tier: Tier;
  /** Tiers by contract dimension; null if the products have none. */
  readonly tiers: ReadonlyMap<string, Tier> | null;
  readonly egress: Pick<Egress, 'agents'>;
  readonly clock: Clock;
}

/** Outcome of a reported hour. `retry`: AWS did not accept it now and may accept it later. */
export interface HourReportResult {
  readonly hour: HourlyUsage;
  readonly outcome: 'accepted' | 'rejected' | 'not_subscribed' | 'retry';
  readonly reason: string;
}

interface AwsClients {
  readonly metering: MarketplaceMeteringClient;
  readonly entitlements: MarketplaceEntitlementServiceClient;
  readonly sdk: typeof import('@aws-sdk/client-marketplace-metering');
  readonly entitlementSdk: typeof import('@aws-sdk/client-marketplace-entitlement-service');
}

/** Errors caused by the records themselves, for which a retry is useless. */
const recordErrorNames: ReadonlySet<string> = new Set([
  'InvalidUsageDimensionException',
  'InvalidLicenseException',
  'InvalidCustomerIdentifierException',
  'TimestampOutOfBoundsException',
  'InvalidUsageAllocationsException',
]);
/** Reason of records that AWS left unprocessed in an accepted batch. */
export const unprocessedReason = 'unprocessed';
const entitlementPagesMax = 20;

/**
 * AWS Marketplace for SaaS sellers. The SDK is loaded at the first call, because most installations never use
 * it.
 */
export class AwsMarketplace {
  readonly #settings: AwsMarketplaceSettings;
  #loading: Promise<AwsClients> | null = null;

  constructor(settings: AwsMarketplaceSettings) {
    this.#settings = settings;
  }

  /**
   * Returns the customer of a registration token. Errors: 400 for a token that is unknown, expired or for
   * another product; 502 if AWS replies unexpectedly; 503 if it throttles.
   */
  async resolveCustomer(token: string): Promise<AwsOffer> {
    const { metering, sdk } = await this.#clients();
    const command = new sdk.ResolveCustomerCommand({ RegistrationToken: token });
    const reply = await metering.send(command).catch((error: unknown) => {
      throw toAppError(error);
    });
    const { LicenseArn, CustomerAWSAccountId, ProductCode, CustomerIdentifier } = reply;
    if (!LicenseArn || !CustomerAWSAccountId || !ProductCode) {
      throw unexpectedReplyError(new Error('the reply of ResolveCustomer has no license'));
    }
    const { productCodes } = this.#settings;
    if (productCodes !== null && !productCodes.has(ProductCode)) {
      throw new AppError('bad_request', 'This purchase is for another product.');
    }
    return {
      marketplace: 'aws',
      licenseArn: LicenseArn,
      accountId: CustomerAWSAccountId,
      productCode: ProductCode,
      customerId: CustomerIdentifier || null,
    };
  }

  /** Returns the tier that an agreement currently entitles to; null for none. Errors: 502, 503. */
  async tierOf(offer: AwsOffer): Promise<Tier | null> {
    const { tiers: byDimension, tier, clock } = this.#settings;
    if (byDimension === null) return tier;
    const now = clock.now();
    let highest = -1;
    for await (const { Dimension = '', ExpirationDate } of this.#entitlements(offer)) {
      const isExpired = ExpirationDate !== undefined && ExpirationDate.getTime() <= now;
      const granted = byDimension.get(Dimension);
      if (!isExpired && granted !== undefined) highest = Math.max(highest, tiers.indexOf(granted));
    }
    return tiers[highest] ?? null;
  }

  /**
   * Reports at most one batch of hours. Returns the outcome of each. Never rejects because of a reply from
   * AWS.
   */
  async reportHours(hours: readonly HourlyUsage[]): Promise<HourReportResult[]> {
    const { metering, sdk } = await this.#clients();
    const records = hours.map(toUsageRecord);
    try {
      const { Results = [], UnprocessedRecords = [] } = await metering.send(
        new sdk.BatchMeterUsageCommand({ UsageRecords: records }),
      );
      const unprocessedNames = new Set(UnprocessedRecords.map(usageRecordId));
      const statuses = new Map(
        Results.map(({ UsageRecord: record, Status }) => [
          record === undefined ? '' : usageRecordId(record),
          Status,
        ]),
      );
      return hours.map((hour, i) => {
        const name = usageRecordId(records[i]!);
        const status = unprocessedNames.has(name) ? undefined : statuses.get(name);
        return { hour, outcome: outcomeOf(status), reason: status ?? unprocessedReason };
      });
    } catch (error) {
      const name = error instanceof Error ? error.name : typeof error;
      if (!recordErrorNames.has(name)) return hours.map((hour) => ({ hour, outcome: 'retry', reason: name }));
      if (hours.length === 1) return hours.map((hour) => ({ hour, outcome: 'rejected', reason: name }));
      // One invalid record fails its whole batch, so the records are reported individually.
      const results: HourReportResult[] = [];
      for (const hour of hours) results.push(...(await this.reportHours([hour])));
      return results;
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
        throw toAppError(error);
      });
      // An account may have several agreements at the same time.
      for (const entitlement of page.Entitlements ?? [])
        if ((entitlement.LicenseArn ?? licenseArn) === licenseArn) yield entitlement;
      token = page.NextToken;
      if (!token) return;
    }
  }

  #clients(): Promise<AwsClients> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  async #load(): Promise<AwsClients> {
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

/** A record with a license must not have a product code: AWS bills records with both twice. */
function toUsageRecord({ licenseArn, accountId, hour, dimension, quantity }: HourlyUsage): UsageRecord {
  return {
    Timestamp: new Date(hour * 3_600_000),
    CustomerAWSAccountId: accountId,
    LicenseArn: licenseArn,
    Dimension: dimension,
    Quantity: quantity,
  };
}

function usageRecordId({ LicenseArn, Timestamp, Dimension }: UsageRecord): string {
  return `${LicenseArn} ${Timestamp === undefined ? 0 : Math.floor(Timestamp.getTime() / 3_600_000)} ${Dimension}`;
}

function outcomeOf(status: string | undefined): HourReportResult['outcome'] {
  switch (status) {
    case 'Success':
      return 'accepted';
    case 'DuplicateRecord':
      return 'rejected';
    case 'CustomerNotSubscribed':
      return 'not_subscribed';
    default:
      return 'retry';
  }
}

function toAppError(error: unknown): AppError {
  const refused = findEgressDenial(error);
  if (refused !== null) return egressDeniedError('AWS Marketplace', refused);
  const name = error instanceof Error ? error.name : '';
  if (name === 'ExpiredTokenException' || name === 'InvalidTokenException') {
    return new AppError(
      'bad_request',
      'The AWS Marketplace token is unknown or has expired. Start again from AWS Marketplace.',
    );
  }
  if (name === 'ThrottlingException') {
    return new AppError('unavailable', 'AWS Marketplace is throttling requests. Try again shortly.', {
      retryAfterMs: 30_000,
    });
  }
  return unexpectedReplyError(error);
}

function unexpectedReplyError(cause: unknown): AppError {
  return new AppError('bad_gateway', 'AWS Marketplace returned an unexpected reply. Try again shortly.', {
    cause,
  });
}
