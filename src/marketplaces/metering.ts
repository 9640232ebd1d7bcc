import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { AwsOffer, HourOfUse } from '../store/marketplaces.ts';
import type { Store } from '../store/store.ts';
import type { Agreements } from './agreements.ts';
import {
  type AwsAgreement,
  hourMs,
  isAwsAgreement,
  isBilledElsewhere,
  type OtherSources,
} from './aws-agreement.ts';
import { type AwsMarket, type Reported, unprocessed } from './aws-market.ts';

/** What is counted of an organisation. */
export const meteredUses = ['documents', 'pages', 'queries', 'embed_tokens', 'rerank_tokens'] as const;
export type MeteredUse = (typeof meteredUses)[number];
export type Uses = Readonly<Record<MeteredUse, number>>;

/** What of it a dimension of the product bills: one unit for so many. */
export interface BilledDimension {
  readonly use: MeteredUse;
  readonly per: number;
  readonly dimension: string;
}

export interface MeteringOptions {
  readonly store: Store;
  readonly agreements: Agreements;
  readonly market: Pick<AwsMarket, 'report'>;
  readonly dimensions: readonly BilledDimension[];
  /** Of hours since the epoch, `from` inclusive, `to` exclusive. */
  readonly usesOf: (organizationId: string, from: number, to: number) => Promise<Uses>;
  /** Until when its use was charged by card; see `OtherSources`. */
  readonly chargedUntil: (organizationId: string) => number;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Reports what organisations used to AWS Marketplace. First the use of an hour is fixed: written once, in the same write
 * that says that the hour is done. Then it is sent, the very same every time, until AWS has taken it. A crash in between
 * repeats only the sending, which AWS knows by its hour, license and dimension: nothing is billed twice, and nothing is
 * forgotten.
 */
export class Metering {
  readonly #options: MeteringOptions;

  constructor(options: MeteringOptions) {
    this.#options = options;
  }

  /** Whether use is billed at all, besides what an agreement costs. */
  get isMetered(): boolean {
    return this.#options.dimensions.length > 0;
  }

  /** The hour that is now. */
  get hour(): number {
    return Math.floor(this.#options.clock.now() / hourMs);
  }

  /** The first hour whose use AWS still takes: of the day that is over, and of this month, but for its first hours. */
  get #oldest(): number {
    const { hour } = this;
    const now = new Date(hour * hourMs);
    const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1) / hourMs;
    const inTime = hour - limits.marketplaceHoursMax;
    return hour - month < limits.marketplaceGraceHoursMax ? inTime : Math.max(inTime, month);
  }

  /** Fixes the use of all hours that are complete. */
  async fix(agreement: AwsAgreement): Promise<void> {
    const now = this.#options.clock.now();
    // The meter writes a little later than it counts.
    await this.fixUntil(agreement, Math.floor((now - limits.marketplaceSettleMs) / hourMs));
  }

  /** Fixes the use of the hours before `end`; what is too old to be told is added to the oldest hour that is not. */
  async fixUntil({ offer }: AwsAgreement, end: number): Promise<void> {
    const { agreements, dimensions, usesOf } = this.#options;
    if (dimensions.length === 0) return;
    await agreements.change(offer, async (known) => {
      if (known === undefined || known.endedAt !== null || known.hour >= end) return null;
      const oldest = Math.min(end - 1, Math.max(known.hour, this.#oldest));
      const carried = { ...known.carried };
      const fixed: HourOfUse[] = [];
      const sources = await this.#sourcesOf(known.organizationId);
      for (let hour = oldest; hour < end; hour += 1) {
        if (isBilledElsewhere({ ...known, offer }, hour, sources)) continue;
        const from = hour === oldest ? known.hour : hour;
        const uses = await usesOf(known.organizationId, from, hour + 1);
        fixed.push(...this.#hoursOf(offer, hour, uses, carried));
      }
      const alongside = fixed.map((each) => agreements.records.putHour(each));
      return { after: { ...known, hour: end, carried }, alongside };
    });
  }

  /** Logs every license whose use another source bills; for the start. */
  async warnOfOtherSources(): Promise<void> {
    const { agreements, logger, dimensions } = this.#options;
    if (dimensions.length === 0) return;
    for (const agreement of (await agreements.records.agreements('aws')).filter(isAwsAgreement)) {
      const { organizationId, offer, endedAt } = agreement;
      if (endedAt !== null) continue;
      const sources = await this.#sourcesOf(organizationId);
      if (isBilledElsewhere(agreement, this.hour, sources))
        logger.warn(
          { organizationId, licenseArn: offer.licenseArn, byCard: sources.chargedUntil > 0 },
          'usage is not reported for an AWS license, because another source bills it',
        );
    }
  }

  async #sourcesOf(organizationId: string): Promise<OtherSources> {
    const { agreements, chargedUntil } = this.#options;
    const all = await agreements.ofOrganisation(organizationId);
    return { agreements: all.filter(isAwsAgreement), chargedUntil: chargedUntil(organizationId) };
  }

  /** Sends what is fixed; gives the licenses that AWS says nobody pays for any more. */
  async report(): Promise<ReadonlySet<string>> {
    const { market, agreements } = this.#options;
    const { records } = agreements;
    const ended = new Set<string>();
    const waiting = await this.#inTime(await records.hours(limits.marketplaceHoursReadMax));
    for (let at = 0; at < waiting.length; at += limits.marketplaceBatchMax) {
      const reported = await market.report(waiting.slice(at, at + limits.marketplaceBatchMax));
      await this.#note(reported);
      for (const { hour, outcome } of reported) if (outcome === 'not subscribed') ended.add(hour.licenseArn);
      // AWS is down, or does not let us in: the rest waits, too. What it left out for now keeps nobody.
      if (reported.every(({ outcome, reason }) => outcome === 'again' && reason !== unprocessed)) break;
    }
    return ended;
  }

  #hoursOf(
    { licenseArn, accountId }: AwsOffer,
    hour: number,
    uses: Uses,
    carried: Record<string, number>,
  ): HourOfUse[] {
    return this.#options.dimensions.flatMap(({ use, per, dimension }) => {
      const used = (carried[dimension] ?? 0) + uses[use];
      const quantity = Math.floor(used / per);
      carried[dimension] = used - quantity * per;
      if (quantity === 0) return [];
      return [{ licenseArn, accountId, hour, dimension, quantity }];
    });
  }

  /** Without those that AWS refuses for their age; whether it took them before, nobody knows, so nobody bills them again. */
  async #inTime(hours: readonly HourOfUse[]): Promise<HourOfUse[]> {
    const oldest = this.#oldest;
    const late = hours.filter(({ hour }) => hour < oldest);
    await this.#note(late.map((hour) => ({ hour, outcome: 'refused', reason: 'too old' })));
    return hours.filter(({ hour }) => hour >= oldest);
  }

  async #note(reported: readonly Reported[]): Promise<void> {
    const { store, agreements, audit, logger } = this.#options;
    const done = reported.filter(({ outcome }) => outcome !== 'again');
    const lost = done.filter(({ outcome }) => outcome !== 'taken');
    for (const { hour, reason } of lost)
      logger.error({ ...shown(hour), licenseArn: hour.licenseArn, reason }, 'AWS Marketplace refused usage');
    const waiting = reported.length - done.length;
    if (waiting > 0)
      logger.warn({ waiting, reason: reported.at(-1)?.reason }, 'usage waits for AWS Marketplace');
    if (done.length === 0) return;
    const fact = {
      organizationId: null,
      actor: 'system',
      address: null,
      action: 'marketplace.usage_refused',
    };
    await store.write(
      [
        ...done.map(({ hour }) => agreements.records.deleteHour(hour)),
        ...lost.map(({ hour, reason }) =>
          audit.entry({
            ...fact,
            target: hour.licenseArn,
            details: { ...shown(hour), reason },
          }),
        ),
      ],
      { mayUseReserve: true },
    );
  }
}

function shown({ hour, dimension, quantity }: HourOfUse) {
  return { hour: new Date(hour * hourMs).toISOString(), dimension, quantity };
}
