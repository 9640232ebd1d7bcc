import { AppError } from '../core/app-error.ts';
import type { Logger } from '../core/logger.ts';
import type { AgreementLifecycle } from './agreement-lifecycle.ts';
import type { Agreements } from './agreements.ts';
import type { ConfiguredMarketplaces } from './configured-marketplaces.ts';

export interface MarketplaceMaintenanceOptions extends ConfiguredMarketplaces {
  readonly agreements: Agreements;
  readonly lifecycle: AgreementLifecycle;
  readonly logger: Logger;
}

/** Number of consecutive failures after which AWS is considered unavailable. */
const failuresMax = 3;

/** Periodic work on agreements. Each task ends early when its signal is aborted. */
export class MarketplaceMaintenance {
  readonly #options: MarketplaceMaintenanceOptions;

  constructor(options: MarketplaceMaintenanceOptions) {
    this.#options = options;
  }

  /**
   * Reads the entitlements of agreements from AWS again. A failure for one
   * agreement does not stop the others.
   */
  async refreshEntitlements(signal: AbortSignal): Promise<void> {
    const { aws, lifecycle, logger } = this.#options;
    await lifecycle.grantPendingTiers();
    if (aws === null) return;
    let failures = 0;
    for (const agreement of await lifecycle.listAws()) {
      if (signal.aborted || failures === failuresMax) return;
      try {
        await lifecycle.refresh(agreement);
        failures = 0;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        failures += 1;
        const { offer, organizationId } = agreement;
        logger.warn(
          { organizationId, licenseArn: offer.licenseArn, error: String(error.cause ?? error) },
          'reading entitlements from AWS Marketplace failed, will retry',
        );
      }
    }
  }

  /**
   * Sets variables that are still waiting because Vercel did not answer or a crash interrupted.
   */
  async setPendingVariables(signal: AbortSignal): Promise<void> {
    const { agreements, lifecycle } = this.#options;
    const all = await agreements.records.listAgreements('vercel');
    for (const each of all.filter(({ endedAt, variables }) => endedAt === null && variables === 'waiting')) {
      if (signal.aborted) return;
      await lifecycle.setVariables(each);
    }
  }

  /** Closes and reports hours of usage. */
  async reportUsage(signal: AbortSignal): Promise<void> {
    const { aws, agreements, lifecycle } = this.#options;
    if (aws === null) return;
    for (const agreement of await lifecycle.listAws()) {
      if (signal.aborted) return;
      await aws.metering.closeCompleteHours(agreement);
    }
    const unsubscribedLicenses = await aws.metering.reportHours();
    for (const licenseArn of unsubscribedLicenses) {
      const agreement = agreements.records.findAgreement('aws', licenseArn);
      if (agreement !== undefined && agreement.endedAt === null) await lifecycle.end(agreement);
    }
  }
}
