import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import {
  type MarketplaceAgreement,
  type MarketplaceOffer,
  subjectOf,
  type VariablesState,
} from '../storage/marketplaces.ts';
import type { Tier } from '../storage/organizations.ts';
import type { Agreements } from './agreements.ts';
import { type AwsAgreement, isAwsAgreement } from './aws-agreement.ts';
import { type ConfiguredMarketplaces, notConfiguredError } from './configured-marketplaces.ts';
import { isVercelAgreement } from './vercel-variables.ts';

export interface AgreementLifecycleOptions extends ConfiguredMarketplaces {
  readonly agreements: Agreements;
  readonly clock: Clock;
  readonly audit: AuditLog;
  /** Recomputes the tier of an organization from its purchases. Idempotent. */
  readonly applyTier: (organizationId: string, by: Actor) => Promise<void>;
}

const system: Actor = { actor: 'system', address: null };

/** States of an agreement: entitled, granted, ended. */
export class AgreementLifecycle {
  readonly #options: AgreementLifecycleOptions;

  /**
   * Grants run one after another, each based on all active agreements, so that an earlier grant never
   * overwrites a later one.
   */
  readonly #grantMutex = new Mutex();

  constructor(options: AgreementLifecycleOptions) {
    this.#options = options;
  }

  /** Grants tiers that were bought but not granted because of a crash. */
  async grantPendingTiers(): Promise<void> {
    const { agreements } = this.#options;
    for (const marketplace of ['aws', 'vercel'] as const)
      for (const each of await agreements.records.listAgreements(marketplace)) await this.grantTier(each);
  }

  /** Same for one organization, called before its tier is shown. */
  async grantPendingTiersOf(organizationId: string): Promise<void> {
    for (const each of await this.#options.agreements.listByOrganization(organizationId))
      await this.grantTier(each);
  }

  /** Reads the tier of an offer from its marketplace. Errors: 502; 503 if the marketplace is not configured. */
  async readEntitledTier(offer: MarketplaceOffer): Promise<Tier | null> {
    const { aws, vercel } = this.#options;
    if (offer.marketplace === 'vercel') return vercel?.tier ?? null;
    if (aws === null) throw notConfiguredError('AWS Marketplace', 'QUARRY_AWS_MARKETPLACE');
    return aws.client.tierOf(offer);
  }

  /** Sets the variables of an installation in Vercel. Null for other agreements. */
  async setVariables(agreement: MarketplaceAgreement): Promise<VariablesState | null> {
    const { vercel } = this.#options;
    return vercel !== null && isVercelAgreement(agreement) ? vercel.variables.set(agreement) : null;
  }

  /** Reads the entitlement of an agreement from AWS again. */
  async refresh({ offer, endedAt }: AwsAgreement): Promise<void> {
    const { agreements } = this.#options;
    const tier = endedAt === null ? await this.readEntitledTier(offer) : null;
    const after = await agreements.update(offer, (known) =>
      known === undefined || known.endedAt !== null || known.tier === tier
        ? null
        : { after: { ...known, tier } },
    );
    if (after !== undefined) await this.grantTier(after);
  }

  /** Ends an agreement and its tier. Idempotent. */
  async end(agreement: MarketplaceAgreement): Promise<void> {
    const { agreements, clock, audit, vercel } = this.#options;
    const { offer, organizationId } = agreement;
    if (isAwsAgreement(agreement)) await this.closeFinalHours(agreement);
    // Discards the access token.
    const offerWithoutToken: MarketplaceOffer =
      offer.marketplace === 'aws' ? offer : { ...offer, sealedToken: new Uint8Array(0) };
    const auditEvent = { ...system, organizationId, action: 'marketplace.ended', target: subjectOf(offer) };
    const recordEnd = () =>
      agreements.update(offer, (known) => {
        if (known === undefined || known.endedAt !== null) return null;
        const { sealedKey: _ended, variables: _over, ...kept } = known;
        return {
          after: { ...kept, offer: offerWithoutToken, endedAt: clock.now() },
          extraOperations: [
            audit.entryOperation({ ...auditEvent, details: { marketplace: offer.marketplace } }),
          ],
        };
      });
    const holdsVariables = vercel !== null && isVercelAgreement(agreement);
    const ended = await (holdsVariables
      ? vercel.variables.endInstallation(agreement, recordEnd)
      : recordEnd());
    if (ended !== undefined) await this.grantTier(ended);
  }

  /** Closes the current hour early, because AWS accepts no usage after the end of an agreement. */
  async closeFinalHours(agreement: AwsAgreement): Promise<void> {
    const metering = this.#options.aws?.metering;
    if (metering === undefined || agreement.endedAt !== null) return;
    await metering.closeHoursBefore(agreement, metering.currentHour + 1);
    await metering.reportHours();
  }

  /** Applies the tier of an agreement. Idempotent: a crash before the grant is recorded repeats it. */
  grantTier({ offer, organizationId }: MarketplaceAgreement): Promise<void> {
    const { agreements, applyTier } = this.#options;
    return this.#grantMutex.run(async () => {
      const known = agreements.records.findAgreement(offer.marketplace, subjectOf(offer));
      if (known === undefined || entitledTierOf(known) === known.granted) return;
      const entitled = entitledTierOf(known);
      await applyTier(organizationId, system);
      await agreements.update(offer, (latest) =>
        latest ? { after: { ...latest, granted: entitled } } : null,
      );
    });
  }

  /** Lists the AWS agreements that are active, or whose tier is still granted. */
  async listAws(): Promise<AwsAgreement[]> {
    const all = await this.#options.agreements.records.listAgreements('aws');
    return all.filter(isAwsAgreement).filter(({ endedAt, granted }) => endedAt === null || granted !== null);
  }
}

/** Tier of an agreement while it is active. */
function entitledTierOf({ endedAt, tier }: MarketplaceAgreement): Tier | null {
  return endedAt === null ? tier : null;
}
