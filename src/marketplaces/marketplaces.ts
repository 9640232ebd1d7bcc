import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Sealer } from '../core/sealer.ts';
import { deleteInBatches } from '../storage/delete-in-batches.ts';
import {
  type MarketplaceAgreement,
  type MarketplaceOffer,
  type MarketplaceSignUp,
  subjectOf,
  type VariablesState,
} from '../storage/marketplaces.ts';
import type { Tier } from '../storage/organizations.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import type { Agreements } from './agreements.ts';
import { type AwsAgreement, hourMs, isAwsAgreement } from './aws-agreement.ts';
import type { AwsMarketplace } from './aws-marketplace.ts';
import { parseAwsMessage } from './aws-messages.ts';
import type { AwsMetering } from './aws-metering.ts';
import type { SnsReceiver } from './sns-receiver.ts';
import type { VercelApi } from './vercel-api.ts';
import type { VercelAgreement, VercelVariables } from './vercel-variables.ts';

export interface AwsComponents {
  readonly client: Pick<AwsMarketplace, 'resolveCustomer' | 'tierOf'>;
  readonly metering: Pick<
    AwsMetering,
    | 'isEnabled'
    | 'currentHour'
    | 'closeCompleteHours'
    | 'closeHoursBefore'
    | 'reportHours'
    | 'warnOfOtherSources'
  >;
  /** Null if no topic is configured. */
  readonly snsReceiver: SnsReceiver | null;
}

export interface VercelComponents {
  readonly api: VercelApi;
  readonly variables: VercelVariables;
  /** Tier that an installation entitles to; null for none. */
  readonly tier: Tier | null;
}

/** Card billing. Usage is metered once: by card or through a marketplace. */
export interface CardPayments {
  readonly isBilledByStripe: (organizationId: string) => boolean;
  /** Returns an operation that makes its write fail if the organization is billed by card by then. */
  readonly expectNotBilledByStripe: (organizationId: string) => WriteOperation;
}

export interface MarketplacesOptions {
  readonly store: Store;
  readonly agreements: Agreements;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
  readonly logger: Logger;
  /** Seals access tokens of marketplaces. */
  readonly sealer: Sealer;
  /** Null for a marketplace that is not configured. */
  readonly aws: AwsComponents | null;
  readonly vercel: VercelComponents | null;
  /** Recomputes the tier of an organization from its purchases. Idempotent. */
  readonly applyTier: (organizationId: string, by: Actor) => Promise<void>;
  /** Returns the tier of an organization; null if it does not exist. */
  readonly tierOf: (organizationId: string) => Tier | null;
  /** Null if usage is not billed by card. */
  readonly cardPayments: CardPayments | null;
  /** Errors: 429 for too many sign-ups from an address. */
  readonly checkSignUpRate: (address: string) => void;
  /** Errors: 429 for too many messages from an address, whether or not they come from a marketplace. */
  readonly checkMessageRate: (address: string) => void;
}

/** Tokens of a sign-up started at a marketplace: `token` in the URL, `browserToken` in a cookie. */
export interface SignUpTokens {
  readonly token: string;
  readonly browserToken: string;
}

/** Sign-up that waits for a browser. */
export interface PendingSignUp {
  readonly marketplace: MarketplaceOffer['marketplace'];
  /** Display name of the account at the marketplace, if known. */
  readonly account: string | null;
  /** Account id assigned by the marketplace, which the owner cannot choose. */
  readonly accountId: string | null;
  readonly installationId: string | null;
  readonly expiresAt: number;
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

const system: Actor = { actor: 'system', address: null };
/** Number of consecutive failures after which AWS is considered unavailable. */
const failuresMax = 3;

/**
 * Sign-ups from marketplaces and the agreements of organizations. A user has one hour to sign in and choose,
 * in the same browser, the organization for an agreement. An agreement belongs to one organization; binding
 * it again changes nothing.
 */
export class Marketplaces {
  readonly #options: MarketplacesOptions;
  /**
   * Grants run one after another, each based on all active agreements, so that an earlier grant never
   * overwrites a later one.
   */
  readonly #grantMutex = new Mutex();

  constructor(options: MarketplacesOptions) {
    this.#options = options;
  }

  /**
   * Starts a sign-up from AWS with its token. Errors: 400 for an invalid token; 429; 502; 503 if AWS is not
   * configured.
   */
  async beginAwsSignUp(token: string, address: string): Promise<SignUpTokens> {
    const { aws, checkSignUpRate } = this.#options;
    if (aws === null) throw notConfiguredError('AWS Marketplace', 'QUARRY_AWS_MARKETPLACE');
    if (token === '' || token.length > limits.marketplaceTextUnitsMax) {
      throw new AppError('bad_request', 'x-amzn-marketplace-token is missing or invalid.');
    }
    checkSignUpRate(address);
    return this.#createSignUp(await aws.client.resolveCustomer(token));
  }

  /**
   * Starts a sign-up from Vercel with its code. Errors: 400 for an invalid code or `next`; 429; 502; 503 if
   * Vercel is not configured.
   */
  async beginVercelSignUp(
    callback: { readonly code: string; readonly next: string },
    address: string,
  ): Promise<SignUpTokens> {
    const { vercel, checkSignUpRate } = this.#options;
    if (vercel === null) throw notConfiguredError('Vercel', 'QUARRY_VERCEL_CLIENT_ID');
    const next = vercel.api.parseNextUrl(callback.next);
    if (callback.code === '' || callback.code.length > limits.marketplaceTextUnitsMax) {
      throw new AppError('bad_request', 'code is missing or not a code of Vercel.');
    }
    checkSignUpRate(address);
    const installationWithToken = await vercel.api.exchangeCode(callback.code);
    const { accessToken, ...installation } = installationWithToken;
    const sealedToken = this.#options.sealer.seal(accessToken, installation.installationId);
    const account = (await vercel.api.findAccountName(installationWithToken)) ?? installation.teamId;
    return this.#createSignUp({ marketplace: 'vercel', ...installation, account, sealedToken, next });
  }

  /** Returns the pending sign-up of this browser. Errors: 404 if there is none. */
  getSignUp(token: string, browserToken: string | undefined): PendingSignUp {
    const { offer, expiresAt } = this.#requireSignUp(token, browserToken);
    const { marketplace } = offer;
    if (offer.marketplace === 'aws') {
      return {
        marketplace,
        account: offer.accountId,
        accountId: offer.accountId,
        installationId: null,
        expiresAt,
      };
    }
    const { account = null, teamId, userId, installationId } = offer;
    return { marketplace, account, accountId: teamId ?? userId, installationId, expiresAt };
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
    const { offer } = this.#requireSignUp(token, browserToken);
    const { agreements, clock, audit, tierOf } = this.#options;
    const tier = await this.#readEntitledTier(offer);
    const variablesField =
      offer.marketplace === 'vercel' && setsVariables ? ({ variables: 'waiting' } as const) : {};
    const binding = agreements.update(offer, async (known) => {
      if (known !== undefined && known.organizationId !== organizationId)
        throw boundToOtherOrganizationError();
      if (known?.endedAt === null) return { after: { ...known, offer, tier, ...variablesField } };
      const conditions = await this.#checkMeteredOnce(offer, organizationId);
      const now = clock.now();
      // Usage before the purchase is not billed: billing starts with the first whole hour.
      const hour = Math.ceil(now / hourMs);
      const initialFields = {
        boundAt: now,
        endedAt: null,
        hour,
        carried: {},
        granted: known?.granted ?? null,
      };
      const auditEvent = { ...by, organizationId, action: 'marketplace.bound', target: subjectOf(offer) };
      return {
        after: { offer, organizationId, tier, ...initialFields, ...variablesField },
        extraOperations: [
          ...conditions,
          audit.entryOperation({ ...auditEvent, details: { marketplace: offer.marketplace, tier } }),
        ],
      };
    });
    const agreement = await binding.catch((error: unknown) => {
      throw error instanceof ExpectationFailedError ? chargedByCardError() : error;
    });
    if (agreement !== undefined) await this.#grantTier(agreement);
    return {
      marketplace: offer.marketplace,
      entitledTier: tier,
      tier: tierOf(organizationId),
      variables: setsVariables && agreement !== undefined ? await this.#setVariables(agreement) : null,
      next: offer.marketplace === 'vercel' ? offer.next : null,
    };
  }

  /**
   * Handles an SNS message about agreements. It is only a hint: entitlements are read from AWS. Errors: 400
   * for a message not sent by SNS to this server; 429; 502; 503.
   */
  async handleAwsMessage(text: string, address: string): Promise<void> {
    const receiver = this.#options.aws?.snsReceiver ?? null;
    if (receiver === null) throw notConfiguredError('Messages of AWS Marketplace', 'QUARRY_AWS_TOPIC_ARNS');
    this.#options.checkMessageRate(address);
    const notification = await receiver.receive(text);
    if (notification === null) return;
    const message = parseAwsMessage(notification);
    const matching = (await this.#listAwsAgreements()).filter(
      ({ offer }) => message.matchOffer(offer) !== null,
    );
    const active = matching.filter(({ endedAt }) => endedAt === null);
    for (const agreement of matching) {
      // If a customer has several agreements, the message does not show which has ended, so AWS is queried.
      const isCertain = message.matchOffer(agreement.offer) === 'certain' || active.length === 1;
      if (isCertain && message.kind === 'ending') await this.#closeFinalHours(agreement);
      if (isCertain && message.kind === 'ended') await this.#endAgreement(agreement);
      else await this.#refreshAgreement(agreement);
    }
  }

  /**
   * Handles a webhook of Vercel. Errors: 400 for an invalid signature; 429; 503 if Vercel is not configured.
   */
  async handleVercelWebhook(body: Uint8Array, signature: string, address: string): Promise<void> {
    const { vercel, checkMessageRate, agreements } = this.#options;
    if (vercel === null) throw notConfiguredError('Vercel', 'QUARRY_VERCEL_CLIENT_ID');
    checkMessageRate(address);
    if (!vercel.api.isSignatureValid(body, signature)) {
      throw new AppError('bad_request', 'x-vercel-signature does not match the body.');
    }
    const { type, installationId } = parseWebhook(Buffer.from(body).toString('utf8'));
    if (installationId === null) return;
    const agreement = agreements.records.findAgreement('vercel', installationId);
    if (agreement === undefined || agreement.endedAt !== null) return;
    if (removalEvents.has(type)) await this.#endAgreement(agreement);
    // The integration may now have access to more projects and permissions.
    if (permissionEvents.has(type) && agreement.variables !== undefined) await this.#setVariables(agreement);
  }

  /** Resumes work that the last run left unfinished. */
  async start(): Promise<void> {
    await this.grantPendingTiers();
    await this.#options.aws?.metering.warnOfOtherSources();
  }

  /** Grants tiers that were bought but not granted because of a crash. */
  async grantPendingTiers(): Promise<void> {
    const { agreements } = this.#options;
    for (const marketplace of ['aws', 'vercel'] as const)
      for (const each of await agreements.records.listAgreements(marketplace)) await this.#grantTier(each);
  }

  /** Same for one organization, called before its tier is shown. */
  async grantPendingTiersOf(organizationId: string): Promise<void> {
    for (const each of await this.#options.agreements.listByOrganization(organizationId))
      await this.#grantTier(each);
  }

  /**
   * Sets variables that are still waiting because Vercel did not answer or a crash interrupted. Called by
   * periodic maintenance.
   */
  async setPendingVariables(signal: AbortSignal): Promise<void> {
    const all = await this.#options.agreements.records.listAgreements('vercel');
    for (const each of all.filter(({ endedAt, variables }) => endedAt === null && variables === 'waiting')) {
      if (signal.aborted) return;
      await this.#setVariables(each);
    }
  }

  /** Reseals data after a rotation of the secret of the installation. Called by periodic maintenance. */
  async reseal(signal: AbortSignal): Promise<void> {
    const { vercel, agreements } = this.#options;
    for (const each of await agreements.records.listAgreements('vercel')) {
      if (signal.aborted || vercel === null) return;
      if (isVercel(each) && each.endedAt === null) await vercel.variables.reseal(each);
    }
  }

  /**
   * Reads the entitlements of agreements from AWS again. Called by periodic maintenance. A failure for one
   * agreement does not stop the others.
   */
  async refreshEntitlements(signal: AbortSignal): Promise<void> {
    await this.grantPendingTiers();
    if (this.#options.aws === null) return;
    let failures = 0;
    for (const agreement of await this.#listAwsAgreements()) {
      if (signal.aborted || failures === failuresMax) return;
      try {
        await this.#refreshAgreement(agreement);
        failures = 0;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        failures += 1;
        const { offer, organizationId } = agreement;
        this.#options.logger.warn(
          { organizationId, licenseArn: offer.licenseArn, error: String(error.cause ?? error) },
          'reading entitlements from AWS Marketplace failed, will retry',
        );
      }
    }
  }

  /** Closes and reports hours of usage. Called by periodic maintenance. */
  async reportUsage(signal: AbortSignal): Promise<void> {
    const { aws, agreements } = this.#options;
    if (aws === null) return;
    for (const agreement of await this.#listAwsAgreements()) {
      if (signal.aborted) return;
      await aws.metering.closeCompleteHours(agreement);
    }
    const unsubscribedLicenses = await aws.metering.reportHours();
    for (const licenseArn of unsubscribedLicenses) {
      const agreement = agreements.records.findAgreement('aws', licenseArn);
      if (agreement !== undefined && agreement.endedAt === null) await this.#endAgreement(agreement);
    }
  }

  /** Deletes expired sign-ups that were never bound. Called by periodic maintenance. */
  sweep(signal?: AbortSignal): Promise<void> {
    const { store, agreements, clock } = this.#options;
    const next = (limit: number) => agreements.records.deleteExpiredSignUps(clock.now(), limit);
    return deleteInBatches(store, next, signal);
  }

  /**
   * Deletes the agreements of a deleted organization. Its usage is closed first, so that it is still
   * reported.
   */
  async deleteOrganization(organizationId: string): Promise<void> {
    const { agreements } = this.#options;
    for (const agreement of await agreements.listByOrganization(organizationId)) {
      if (isAwsAgreement(agreement)) await this.#closeFinalHours(agreement);
      await agreements.delete(agreement);
    }
  }

  async #createSignUp(offer: MarketplaceOffer): Promise<SignUpTokens> {
    const { store, agreements, random, clock } = this.#options;
    const [token, browserToken] = [generateToken(random), generateToken(random)];
    const signUp: MarketplaceSignUp = {
      hash: hashToken(token),
      browserHash: hashToken(browserToken),
      expiresAt: clock.now() + limits.marketplaceSignUpMsMax,
      offer,
    };
    await store.write(agreements.records.putSignUp(signUp));
    return { token, browserToken };
  }

  #requireSignUp(token: string, browser: string | undefined): MarketplaceSignUp {
    const found = this.#options.agreements.records.findSignUp(hashToken(token));
    const isOpen = found !== undefined && found.expiresAt > this.#options.clock.now();
    if (!isOpen || browser === undefined || !isEqualDigest(found.browserHash, hashToken(browser))) {
      throw new AppError(
        'not_found',
        'There is no pending marketplace sign-up in this browser. It has expired (after 1 hour) or was started in another browser.',
      );
    }
    return found;
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

  async #readEntitledTier(offer: MarketplaceOffer): Promise<Tier | null> {
    const { aws, vercel } = this.#options;
    if (offer.marketplace === 'vercel') return vercel?.tier ?? null;
    if (aws === null) throw notConfiguredError('AWS Marketplace', 'QUARRY_AWS_MARKETPLACE');
    return aws.client.tierOf(offer);
  }

  async #setVariables(agreement: MarketplaceAgreement): Promise<VariablesState | null> {
    const { vercel } = this.#options;
    return vercel !== null && isVercel(agreement) ? vercel.variables.set(agreement) : null;
  }

  async #refreshAgreement({ offer, endedAt }: AwsAgreement): Promise<void> {
    const { agreements } = this.#options;
    const tier = endedAt === null ? await this.#readEntitledTier(offer) : null;
    const after = await agreements.update(offer, (known) =>
      known === undefined || known.endedAt !== null || known.tier === tier
        ? null
        : { after: { ...known, tier } },
    );
    if (after !== undefined) await this.#grantTier(after);
  }

  async #endAgreement(agreement: MarketplaceAgreement): Promise<void> {
    const { agreements, clock, audit, vercel } = this.#options;
    const { offer, organizationId } = agreement;
    if (isAwsAgreement(agreement)) await this.#closeFinalHours(agreement);
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
    const holdsVariables = vercel !== null && isVercel(agreement);
    const ended = await (holdsVariables
      ? vercel.variables.endInstallation(agreement, recordEnd)
      : recordEnd());
    if (ended !== undefined) await this.#grantTier(ended);
  }

  /** Closes the current hour early, because AWS accepts no usage after the end of an agreement. */
  async #closeFinalHours(agreement: AwsAgreement): Promise<void> {
    const metering = this.#options.aws?.metering;
    if (metering === undefined || agreement.endedAt !== null) return;
    await metering.closeHoursBefore(agreement, metering.currentHour + 1);
    await metering.reportHours();
  }

  /** Applies the tier of an agreement. Idempotent: a crash before the grant is recorded repeats it. */
  #grantTier({ offer, organizationId }: MarketplaceAgreement): Promise<void> {
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

  async #listAwsAgreements(): Promise<AwsAgreement[]> {
    const all = await this.#options.agreements.records.listAgreements('aws');
    return all.filter(isAwsAgreement).filter(({ endedAt, granted }) => endedAt === null || granted !== null);
  }
}

/** Tier of an agreement while it is active. */
function entitledTierOf({ endedAt, tier }: MarketplaceAgreement): Tier | null {
  return endedAt === null ? tier : null;
}

function isVercel(agreement: MarketplaceAgreement): agreement is VercelAgreement {
  return agreement.offer.marketplace === 'vercel';
}

function generateToken(random: Random): string {
  return Buffer.from(random.bytes(32)).toString('base64url');
}

function hashToken(token: string): string {
  return digestOf('sha256', token, 'hex');
}

function isEqualDigest(expected: string, actual: string): boolean {
  return timingSafeEqual(Buffer.from(expected, 'hex'), Buffer.from(actual, 'hex'));
}

const removalEvents: ReadonlySet<string> = new Set([
  'integration-configuration.removed',
  'integration-configuration-removed',
]);
const permissionEvents: ReadonlySet<string> = new Set([
  'integration-configuration.permission-upgraded',
  'integration-configuration.scope-change-confirmed',
]);

/** Returns the type of a webhook and the id of its installation; null for none. */
function parseWebhook(body: string): { readonly type: string; readonly installationId: string | null } {
  let webhook: { type?: unknown; payload?: { configuration?: { id?: unknown } } };
  try {
    webhook = Object(JSON.parse(body));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not JSON.', { cause });
  }
  const id = webhook.payload?.configuration?.id;
  const isId = typeof id === 'string' && id.length <= limits.marketplaceTextUnitsMax;
  return { type: String(webhook.type), installationId: isId ? id : null };
}

function boundToOtherOrganizationError(): AppError {
  return new AppError('conflict', 'This purchase already belongs to another organization.');
}

function licenseAlreadyMeteredError(licenseArn: string): AppError {
  return new AppError(
    'conflict',
    `The usage of this organization is already metered for the AWS license ${licenseArn} and would be charged twice. Cancel that agreement at AWS first, or choose another organization for this purchase.`,
  );
}

function chargedByCardError(): AppError {
  return new AppError(
    'conflict',
    'The usage of this organization is charged by its subscription on this server and would be charged twice. Pause or end the subscription first, or choose another organization for this purchase.',
  );
}

function notConfiguredError(product: string, setting: string): AppError {
  return new AppError('unavailable', `${product} is not configured. Ask the operator to set ${setting}.`, {
    shouldRetry: false,
  });
}
