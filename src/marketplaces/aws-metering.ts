import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { AwsOffer, HourlyUsage } from '../storage/marketplaces.ts';
import type { Store } from '../storage/store.ts';
import type { Agreements } from './agreements.ts';
import {
  type AwsAgreement,
  hourMs,
  isAwsAgreement,
  isBilledElsewhere,
  type OtherBillingSources,
} from './aws-agreement.ts';
import { type AwsMarketplace, type HourReportResult, unprocessedReason } from './aws-marketplace.ts';

/** Units in which the usage of an organization is counted. */
export const usageUnits = ['documents', 'pages', 'queries', 'embed_tokens', 'rerank_tokens'] as const;
export type UsageUnit = (typeof usageUnits)[number];
export type UsageCounts = Readonly<Record<UsageUnit, number>>;

/** Product dimension that bills a unit: one quantity per `unitsPerQuantity` units. */
export interface BilledDimension {
  readonly unit: UsageUnit;
  readonly unitsPerQuantity: number;
  readonly dimension: string;
}

export interface AwsMeteringOptions {
  readonly store: Store;
  readonly agreements: Agreements;
  readonly client: Pick<AwsMarketplace, 'reportHours'>;
  readonly dimensions: readonly BilledDimension[];
  /** Returns the usage from hour `from` (inclusive) to hour `to` (exclusive), counted from 1970. */
  readonly readUsage: (organizationId: string, from: number, to: number) => Promise<UsageCounts>;
  /** Time until which the usage was charged by card; see `OtherSources`. */
  readonly chargedUntil: (organizationId: string) => number;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Reports usage of organizations to AWS Marketplace. The usage of an hour is first closed: written once, in
 * the same write that marks the hour as done. It is then sent unchanged until AWS accepts it. A crash in
 * between repeats only the sending, which AWS deduplicates by hour, license and dimension: nothing is billed
 * twice and nothing is lost.
 */
export class AwsMetering {
  readonly #options: AwsMeteringOptions;

  constructor(options: AwsMeteringOptions) {
    this.#options = options;
  }

  /** Whether usage is billed in addition to the price of an agreement. */
  get isEnabled(): boolean {
    return this.#options.dimensions.length > 0;
  }

  /** Current hour, counted from 1970. */
  get currentHour(): number {
    return Math.floor(this.#options.clock.now() / hourMs);
  }

  /**
   * First hour whose usage AWS still accepts: within the last `marketplaceHoursMax` hours and, except in the
   * first hours of a month, within the current month.
   */
  get #oldestHour(): number {
    const { currentHour: hour } = this;
    const now = new Date(hour * hourMs);
    const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1) / hourMs;
    const inTime = hour - limits.marketplaceHoursMax;
    return hour - month < limits.marketplaceGraceHoursMax ? inTime : Math.max(inTime, month);
  }

  /** Closes all complete hours. */
  async closeCompleteHours(agreement: AwsAgreement): Promise<void> {
    const now = this.#options.clock.now();
    // The meter writes with a delay.
    await this.closeHoursBefore(agreement, Math.floor((now - limits.marketplaceSettleMs) / hourMs));
  }

  /**
   * Closes the hours before `end`. Usage too old to be reported is added to the oldest hour that is still
   * accepted.
   */
  async closeHoursBefore({ offer }: AwsAgreement, end: number): Promise<void> {
    const { agreements, dimensions, readUsage } = this.#options;
    if (dimensions.length === 0) return;
    await agreements.update(offer, async (known) => {
      if (known === undefined || known.endedAt !== null || known.hour >= end) return null;
      const oldest = Math.min(end - 1, Math.max(known.hour, this.#oldestHour));
      const remainders = { ...known.carried };
      const closedHours: HourlyUsage[] = [];
      const sources = await this.#sourcesOf(known.organizationId);
      for (let hour = oldest; hour < end; hour += 1) {
        if (isBilledElsewhere({ ...known, offer }, hour, sources)) continue;
        const from = hour === oldest ? known.hour : hour;
        const counts = await readUsage(known.organizationId, from, hour + 1);
        closedHours.push(...this.#computeHours(offer, hour, counts, remainders));
      }
      const extraOperations = closedHours.map((each) => agreements.records.putHour(each));
      return { after: { ...known, hour: end, carried: remainders }, extraOperations };
    });
  }

  /** Logs every license whose usage is billed by another source. Called at startup. */
  async warnOfOtherSources(): Promise<void> {
    const { agreements, logger, dimensions } = this.#options;
    if (dimensions.length === 0) return;
    for (const agreement of (await agreements.records.listAgreements('aws')).filter(isAwsAgreement)) {
      const { organizationId, offer, endedAt } = agreement;
      if (endedAt !== null) continue;
      const sources = await this.#sourcesOf(organizationId);
      if (isBilledElsewhere(agreement, this.currentHour, sources))
        logger.warn(
          { organizationId, licenseArn: offer.licenseArn, bySubscription: sources.chargedUntil > 0 },
          'usage of an AWS license not reported: another source bills it',
        );
    }
  }

  async #sourcesOf(organizationId: string): Promise<OtherBillingSources> {
    const { agreements, chargedUntil } = this.#options;
    const all = await agreements.listByOrganization(organizationId);
    return { agreements: all.filter(isAwsAgreement), chargedUntil: chargedUntil(organizationId) };
  }

  /** Sends closed hours. Returns the licenses that AWS reports as no longer subscribed. */
  async reportHours(): Promise<ReadonlySet<string>> {
    const { client, agreements } = this.#options;
    const { records } = agreements;
    const ended = new Set<string>();
    const pending = await this.#dropExpired(await records.listHours(limits.marketplaceHoursReadMax));
    for (let at = 0; at < pending.length; at += limits.marketplaceBatchMax) {
      const results = await client.reportHours(pending.slice(at, at + limits.marketplaceBatchMax));
      await this.#recordResults(results);
      for (const { hour, outcome } of results) if (outcome === 'not_subscribed') ended.add(hour.licenseArn);
      // AWS is unavailable or denies access, so the remaining batches wait. Records that it merely left
      // unprocessed do not stop the loop.
      if (results.every(({ outcome, reason }) => outcome === 'retry' && reason !== unprocessedReason)) break;
    }
    return ended;
  }

  #computeHours(
    { licenseArn, accountId }: AwsOffer,
    hour: number,
    counts: UsageCounts,
    remainders: Record<string, number>,
  ): HourlyUsage[] {
    return this.#options.dimensions.flatMap(({ unit, unitsPerQuantity, dimension }) => {
      const used = (remainders[dimension] ?? 0) + counts[unit];
      const quantity = Math.floor(used / unitsPerQuantity);
      remainders[dimension] = used - quantity * unitsPerQuantity;
      if (quantity === 0) return [];
      return [{ licenseArn, accountId, hour, dimension, quantity }];
    });
  }

  /**
   * Drops hours that AWS rejects as too old. Whether it accepted them earlier is unknown, so they are not
   * billed again.
   */
  async #dropExpired(hours: readonly HourlyUsage[]): Promise<HourlyUsage[]> {
    const oldest = this.#oldestHour;
    const expired = hours.filter(({ hour }) => hour < oldest);
    await this.#recordResults(expired.map((hour) => ({ hour, outcome: 'rejected', reason: 'too old' })));
    return hours.filter(({ hour }) => hour >= oldest);
  }

  async #recordResults(results: readonly HourReportResult[]): Promise<void> {
    const { store, agreements, audit, logger } = this.#options;
    const done = results.filter(({ outcome }) => outcome !== 'retry');
    const rejected = done.filter(({ outcome }) => outcome !== 'accepted');
    for (const { hour, reason } of rejected)
      logger.error(
        { ...toLogFields(hour), licenseArn: hour.licenseArn, reason },
        'AWS Marketplace rejected usage',
      );
    const pendingCount = results.length - done.length;
    if (pendingCount > 0)
      logger.warn(
        { pendingCount, reason: results.at(-1)?.reason },
        'AWS Marketplace did not accept usage, will retry',
      );
    if (done.length === 0) return;
    const auditEvent = {
      organizationId: null,
      actor: 'system',
      address: null,
      action: 'marketplace.usage_refused',
    };
    await store.write(
      [
        ...done.map(({ hour }) => agreements.records.deleteHour(hour)),
        ...rejected.map(({ hour, reason }) =>
          audit.entryOperation({
            ...auditEvent,
            target: hour.licenseArn,
            details: { ...toLogFields(hour), reason },
          }),
        ),
      ],
      { mayUseReserve: true },
    );
  }
}

function toLogFields({ hour, dimension, quantity }: HourlyUsage) {
  return { hour: new Date(hour * hourMs).toISOString(), dimension, quantity };
}
