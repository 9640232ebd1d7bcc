import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import {
  type MarketplaceAgreement,
  type MarketplaceOffer,
  subjectOf,
  type VariablesState,
} from '../storage/marketplaces.ts';
import type { Tier } from '../storage/organizations.ts';
import { ExpectationFailedError, type WriteOperation } from '../storage/store.ts';
import type { AgreementLifecycle } from './agreement-lifecycle.ts';
import type { Agreements } from './agreements.ts';
import { hourMs, isAwsAgreement } from './aws-agreement.ts';
import type { ConfiguredMarketplaces } from './configured-marketplaces.ts';
import type { SignUps } from './sign-ups.ts';

/** Card billing. Usage is metered once: by card or through a marketplace. */
export interface CardPayments {
  readonly isBilledByStripe: (organizationId: string) => boolean;
  /** Returns an operation that makes its write fail if the organization is billed by card by then. */
  readonly expectNotBilledByStripe: (organizationId: string) => WriteOperation;
}

export interface AgreementBindingOptions extends Pick<ConfiguredMarketplaces, 'aws'> {
  readonly agreements: Agreements;
  readonly signUps: SignUps;
  readonly lifecycle: AgreementLifecycle;
  readonly clock: Clock;
  readonly audit: AuditLog;
  /** Returns the tier of an organization; null if it does not exist. */
  readonly tierOf: (organizationId: string) => Tier | null;
  /** Null if usage is not billed by card. */
  readonly cardPayments: CardPayments | null;
}

/** Tokens of a sign-up and its options. */
export interface SignUpInput {
  readonly token: string;
  readonly browserToken: string | undefined;
  /** Whether to set an API key and the address of this server in the Vercel projects. */
  readonly setsVariables: boolean;
}

/** Result of binding an agreement to an organization. */
export interface BindResult {
  readonly marketplace: MarketplaceOffer['marketplace'];
  /** Tier that the agreement entitles to. */
  readonly entitledTier: Tier | null;
  /** Current tier of the organization, from any source. */
  readonly tier: Tier | null;
  readonly variables: VariablesState | null;
  /** URL to which the marketplace wants the browser redirected; null for none. */
  readonly next: string | null;
}

interface NewBinding {
  readonly offer: MarketplaceOffer;
  readonly organizationId: string;
  readonly tier: Tier | null;
  readonly setsVariables: boolean;
  readonly by: Actor;
}

/** Binds agreements to organizations. An agreement belongs to one organization; binding it again changes nothing. */
export class AgreementBinding {
  readonly #options: AgreementBindingOptions;

  constructor(options: AgreementBindingOptions) {
    this.#options = options;
  }

  /**
   * Binds an agreement to an organization. Errors: 404 if no sign-up is pending for this browser; 409 if the
   * agreement belongs to another organization or usage of this one is already metered elsewhere; 502; 503.
   */
  async bind(
    { token, browserToken, setsVariables }: SignUpInput,
    organizationId: string,
    by: Actor,
  ): Promise<BindResult> {
    const { signUps, lifecycle, tierOf } = this.#options;
    const { offer } = signUps.require(token, browserToken);
    const tier = await lifecycle.readEntitledTier(offer);
    const agreement = await this.#storeBinding({ offer, organizationId, tier, setsVariables, by });
    if (agreement !== undefined) await lifecycle.grantTier(agreement);
    return {
      marketplace: offer.marketplace,
      entitledTier: tier,
      tier: tierOf(organizationId),
      variables: setsVariables && agreement !== undefined ? await lifecycle.setVariables(agreement) : null,
      next: offer.marketplace === 'vercel' ? offer.next : null,
    };
  }

  /** Stores the agreement, unless it is already bound to this organization and active. */
  #storeBinding({
    offer,
    organizationId,
    tier,
    setsVariables,
    by,
  }: NewBinding): Promise<MarketplaceAgreement | undefined> {
    const { agreements } = this.#options;
    const variablesField =
      offer.marketplace === 'vercel' && setsVariables ? ({ variables: 'waiting' } as const) : {};
    return agreements
      .update(offer, async (known) => {
        if (known !== undefined && known.organizationId !== organizationId)
          throw boundToOtherOrganizationError();
        if (known?.endedAt === null) return { after: { ...known, offer, tier, ...variablesField } };
        const conditions = await this.#checkMeteredOnce(offer, organizationId);
        const granted = known?.granted ?? null;
        return {
          after: { offer, organizationId, tier, ...this.#initialFields(granted), ...variablesField },
          extraOperations: [...conditions, this.#auditEntry({ offer, organizationId, tier, by })],
        };
      })
      .catch((error: unknown) => {
        throw error instanceof ExpectationFailedError ? chargedByCardError() : error;
      });
  }

  #initialFields(granted: Tier | null) {
    const now = this.#options.clock.now();
    // Usage before the purchase is not billed: billing starts with the first whole hour.
    return { boundAt: now, endedAt: null, hour: Math.ceil(now / hourMs), carried: {}, granted };
  }

  #auditEntry({ offer, organizationId, tier, by }: Omit<NewBinding, 'setsVariables'>): WriteOperation {
    const event = { ...by, organizationId, action: 'marketplace.bound', target: subjectOf(offer) };
    return this.#options.audit.entryOperation({
      ...event,
      details: { marketplace: offer.marketplace, tier },
    });
  }

  /**
   * Returns conditions that must still hold when the agreement is written. Errors: 409 if usage is metered
   * elsewhere.
   */
  async #checkMeteredOnce(
    offer: MarketplaceOffer,
    organizationId: string,
  ): Promise<readonly WriteOperation[]> {
    const { aws, agreements, cardPayments } = this.#options;
    if (offer.marketplace !== 'aws' || aws?.metering.isEnabled !== true) return [];
    const others = (await agreements.listByOrganization(organizationId)).filter(isAwsAgreement);
    const active = others.find(({ endedAt, offer: { licenseArn } }) => {
      return endedAt === null && licenseArn !== offer.licenseArn;
    });
    if (active !== undefined) throw licenseAlreadyMeteredError(active.offer.licenseArn);
    if (cardPayments === null) return [];
    if (cardPayments.isBilledByStripe(organizationId)) throw chargedByCardError();
    return [cardPayments.expectNotBilledByStripe(organizationId)];
  }
}

function boundToOtherOrganizationError(): AppError {
  return new AppError('conflict', 'This purchase already belongs to another organization.');
}

function licenseAlreadyMeteredError(licenseArn: string): AppError {
  return new AppError(
    'conflict',
    `The usage of this organization is already metered for the AWS license ${licenseArn} and would be charged twice. Cancel that agreement in AWS first, or choose another organization for this purchase.`,
  );
}

function chargedByCardError(): AppError {
  return new AppError(
    'conflict',
    'The usage of this organization is charged by its subscription on this server and would be charged twice. Pause or end the subscription first, or choose another organization for this purchase.',
  );
}
