import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Sealing } from '../base/sealing.ts';
import { Mutex } from '../core/async/mutex.ts';
import { deleteInGroups } from '../store/delete-in-groups.ts';
import {
  type Agreement,
  type Offer,
  type SignUp,
  subjectOf,
  type VariablesState,
} from '../store/marketplaces.ts';
import type { Tier } from '../store/organisations.ts';
import { ExpectationFailed, type Operation, type Store } from '../store/store.ts';
import type { Agreements } from './agreements.ts';
import { type AwsAgreement, hourMs, isAwsAgreement } from './aws-agreement.ts';
import type { AwsMarket } from './aws-market.ts';
import { readAwsMessage } from './aws-messages.ts';
import type { Metering } from './metering.ts';
import type { SnsInbox } from './sns-inbox.ts';
import type { VercelApi } from './vercel-api.ts';
import type { VercelAgreement, VercelVariables } from './vercel-variables.ts';

export interface AwsParts {
  readonly market: Pick<AwsMarket, 'resolve' | 'tierOf'>;
  readonly metering: Pick<
    Metering,
    'isMetered' | 'hour' | 'fix' | 'fixUntil' | 'report' | 'warnOfOtherSources'
  >;
  /** Null where no topic is set up. */
  readonly inbox: SnsInbox | null;
}

export interface VercelParts {
  readonly api: VercelApi;
  readonly variables: VercelVariables;
  /** What an installation entitles to; null for nothing. */
  readonly tier: Tier | null;
}

/** Use is metered once: by card, or through a marketplace. */
export interface CardPayments {
  readonly isCharged: (organizationId: string) => boolean;
  /** Rejects the write that it is part of where that is so by then. */
  readonly expectUncharged: (organizationId: string) => Operation;
}

export interface MarketplacesOptions {
  readonly store: Store;
  readonly agreements: Agreements;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly audit: AuditLog;
  readonly logger: Logger;
  /** Seals what opens the doors of marketplaces. */
  readonly sealing: Sealing;
  /** Null for a marketplace that is not set up. */
  readonly aws: AwsParts | null;
  readonly vercel: VercelParts | null;
  /** Makes the tier of an organization follow from what it has bought. Idempotent. */
  readonly applyTier: (organizationId: string, by: Actor) => Promise<void>;
  /** The tier that an organisation has; null for none that there is. */
  readonly tierOf: (organizationId: string) => Tier | null;
  /** Of who pays for use by card; null where nobody does. */
  readonly cards: CardPayments | null;
  /** 429 for who comes too often. */
  readonly admit: (address: string) => void;
  /** 429 for who sends messages too often, in the name of a marketplace or not. */
  readonly admitMessage: (address: string) => void;
}

/** What somebody who comes from a marketplace takes along: `token` in the address, `browser` in a cookie. */
export interface Begun {
  readonly token: string;
  readonly browser: string;
}

/** What waits for a browser. */
export interface Waiting {
  readonly marketplace: Offer['marketplace'];
  /** Whose it is there, where that is known. */
  readonly account: string | null;
  /** What the marketplace itself calls the account; its owner cannot choose it. */
  readonly accountId: string | null;
  readonly installationId: string | null;
  readonly expiresAt: number;
}

/** Of what somebody brings, and what they want of it. */
export interface Brought {
  readonly token: string;
  readonly browser: string | undefined;
  /** Whether the projects at Vercel get an API key and where this server is. */
  readonly setsVariables: boolean;
}

/** What an organisation took. */
export interface Bound {
  readonly marketplace: Offer['marketplace'];
  /** What it entitles to. */
  readonly bought: Tier | null;
  /** What the organisation has now, whatever gave it. */
  readonly tier: Tier | null;
  readonly variables: VariablesState | null;
  /** Where the marketplace wants the browser back; null for nowhere. */
  readonly next: string | null;
}

const system: Actor = { actor: 'system', address: null };
/** So many that fail one after another mean that AWS does not answer at all. */
const failuresMax = 3;

/**
 * People who come from a marketplace, and what their organisations have there. Whoever comes has an hour to sign in and to
 * say, in the same browser, which organisation it is for. An agreement belongs to one organisation; coming again with it
 * changes nothing.
 */
export class Marketplaces {
  readonly #options: MarketplacesOptions;
  /** Grants come one after another, each from all that lasts then: an earlier one never overtakes a later. */
  readonly #grants = new Mutex();

  constructor(options: MarketplacesOptions) {
    this.#options = options;
  }

  /** From AWS, with the token that it sent along. Errors: 400 a bad token, 429, 502, 503 not set up. */
  async beginAws(token: string, address: string): Promise<Begun> {
    const { aws, admit } = this.#options;
    if (aws === null) throw notSetUp('AWS Marketplace', 'QUARRY_AWS_MARKETPLACE');
    if (token === '' || token.length > limits.marketplaceTextUnitsMax) {
      throw new AppError('bad_request', 'x-amzn-marketplace-token is missing or is no token.');
    }
    admit(address);
    return this.#begin(await aws.market.resolve(token));
  }

  /** From Vercel, with its code. Errors: 400 a bad code or `next`, 429, 502, 503 not set up. */
  async beginVercel(
    given: { readonly code: string; readonly next: string },
    address: string,
  ): Promise<Begun> {
    const { vercel, admit } = this.#options;
    if (vercel === null) throw notSetUp('Vercel', 'QUARRY_VERCEL_CLIENT_ID');
    const next = vercel.api.nextOf(given.next);
    if (given.code === '' || given.code.length > limits.marketplaceTextUnitsMax) {
      throw new AppError('bad_request', 'code is no code of Vercel.');
    }
    admit(address);
    const installed = await vercel.api.exchange(given.code);
    const { accessToken, ...installation } = installed;
    const sealedToken = this.#options.sealing.seal(accessToken, installation.installationId);
    const account = (await vercel.api.account(installed)) ?? installation.teamId;
    return this.#begin({ marketplace: 'vercel', ...installation, account, sealedToken, next });
  }

  /** What waits for this browser. 404 for everything that does not. */
  look(token: string, browser: string | undefined): Waiting {
    const { offer, expiresAt } = this.#signUp(token, browser);
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
   * Errors: 404 nothing waits for this browser, 409 it is another organisation's, or the use of this one is metered
   * elsewhere already, 502, 503.
   */
  async bind({ token, browser, setsVariables }: Brought, organizationId: string, by: Actor): Promise<Bound> {
    const { offer } = this.#signUp(token, browser);
    const { agreements, clock, audit, tierOf } = this.#options;
    const tier = await this.#tierOf(offer);
    const wanted = offer.marketplace === 'vercel' && setsVariables ? ({ variables: 'waiting' } as const) : {};
    const binding = agreements.change(offer, async (known) => {
      if (known !== undefined && known.organizationId !== organizationId) throw notYours();
      if (known?.endedAt === null) return { after: { ...known, offer, tier, ...wanted } };
      const conditions = await this.#meteredOnce(offer, organizationId);
      const now = clock.now();
      // Use before it was bought is not billed: the first whole hour is the first.
      const hour = Math.ceil(now / hourMs);
      const beginning = { boundAt: now, endedAt: null, hour, carried: {}, granted: known?.granted ?? null };
      const fact = { ...by, organizationId, action: 'marketplace.bound', target: subjectOf(offer) };
      return {
        after: { offer, organizationId, tier, ...beginning, ...wanted },
        alongside: [
          ...conditions,
          audit.entry({ ...fact, details: { marketplace: offer.marketplace, tier } }),
        ],
      };
    });
    const agreement = await binding.catch((error: unknown) => {
      throw error instanceof ExpectationFailed ? paysByCard() : error;
    });
    if (agreement !== undefined) await this.#settle(agreement);
    return {
      marketplace: offer.marketplace,
      bought: tier,
      tier: tierOf(organizationId),
      variables: setsVariables && agreement !== undefined ? await this.#setVariables(agreement) : null,
      next: offer.marketplace === 'vercel' ? offer.next : null,
    };
  }

  /**
   * A message of SNS about agreements. It is only a hint: what they entitle to is asked of AWS. Errors: 400 for what SNS
   * did not send to us, 429, 502, 503.
   */
  async awsEvent(text: string, address: string): Promise<void> {
    const inbox = this.#options.aws?.inbox ?? null;
    if (inbox === null) throw notSetUp('Messages of AWS Marketplace', 'QUARRY_AWS_TOPIC_ARNS');
    this.#options.admitMessage(address);
    const opened = await inbox.open(text);
    if (opened === null) return;
    const message = readAwsMessage(opened);
    const concerned = (await this.#awsAgreements()).filter(({ offer }) => message.about(offer) !== null);
    const lasting = concerned.filter(({ endedAt }) => endedAt === null);
    for (const agreement of concerned) {
      // Of several of one customer nobody knows which has ended: AWS does.
      const isSure = message.about(agreement.offer) === 'certain' || lasting.length === 1;
      if (isSure && message.happening === 'ending') await this.#useEnds(agreement);
      if (isSure && message.happening === 'ended') await this.#end(agreement);
      else await this.#refresh(agreement);
    }
  }

  /** A webhook of Vercel. Errors: 400 for one that it did not sign, 429, 503 not set up. */
  async vercelEvent(body: Uint8Array, signature: string, address: string): Promise<void> {
    const { vercel, admitMessage, agreements } = this.#options;
    if (vercel === null) throw notSetUp('Vercel', 'QUARRY_VERCEL_CLIENT_ID');
    admitMessage(address);
    if (!vercel.api.isSigned(body, signature)) {
      throw new AppError('bad_request', 'x-vercel-signature does not fit the body.');
    }
    const { type, installationId } = webhookOf(Buffer.from(body).toString('utf8'));
    if (installationId === null) return;
    const agreement = agreements.records.agreement('vercel', installationId);
    if (agreement === undefined || agreement.endedAt !== null) return;
    if (removals.has(type)) await this.#end(agreement);
    // It may see other projects now, and do what was refused to it.
    if (widenings.has(type) && agreement.variables !== undefined) await this.#setVariables(agreement);
  }

  /** Continues where the last run ended. */
  async start(): Promise<void> {
    await this.settleAll();
    await this.#options.aws?.metering.warnOfOtherSources();
  }

  /** Gives what was bought, and a crash kept from being given. */
  async settleAll(): Promise<void> {
    const { agreements } = this.#options;
    for (const marketplace of ['aws', 'vercel'] as const)
      for (const each of await agreements.records.agreements(marketplace)) await this.#settle(each);
  }

  /** The same for one organisation, for whoever is about to show its tier. */
  async settle(organizationId: string): Promise<void> {
    for (const each of await this.#options.agreements.ofOrganisation(organizationId))
      await this.#settle(each);
  }

  /** Sets variables that wait, because Vercel did not answer or a crash came first; for housekeeping. */
  async setWaiting(signal: AbortSignal): Promise<void> {
    const all = await this.#options.agreements.records.agreements('vercel');
    for (const each of all.filter(({ endedAt, variables }) => endedAt === null && variables === 'waiting')) {
      if (signal.aborted) return;
      await this.#setVariables(each);
    }
  }

  /** After a rotation of the secret of the installation: seals again what an earlier one sealed; for housekeeping. */
  async reseal(signal: AbortSignal): Promise<void> {
    const { vercel, agreements } = this.#options;
    for (const each of await agreements.records.agreements('vercel')) {
      if (signal.aborted || vercel === null) return;
      if (isVercel(each) && each.endedAt === null) await vercel.variables.reseal(each);
    }
  }

  /** Asks AWS again what agreements entitle to; for housekeeping. One that it does not tell about keeps no other. */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.settleAll();
    if (this.#options.aws === null) return;
    let failures = 0;
    for (const agreement of await this.#awsAgreements()) {
      if (signal.aborted || failures === failuresMax) return;
      try {
        await this.#refresh(agreement);
        failures = 0;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        failures += 1;
        const { offer, organizationId } = agreement;
        this.#options.logger.warn(
          { organizationId, licenseArn: offer.licenseArn, error: String(error.cause ?? error) },
          'AWS Marketplace did not say what an agreement entitles to; will try again',
        );
      }
    }
  }

  /** Fixes and reports use; for housekeeping. */
  async meter(signal: AbortSignal): Promise<void> {
    const { aws, agreements } = this.#options;
    if (aws === null) return;
    for (const agreement of await this.#awsAgreements()) {
      if (signal.aborted) return;
      await aws.metering.fix(agreement);
    }
    const unpaid = await aws.metering.report();
    for (const licenseArn of unpaid) {
      const agreement = agreements.records.agreement('aws', licenseArn);
      if (agreement !== undefined && agreement.endedAt === null) await this.#end(agreement);
    }
  }

  /** Forgets those who came and never said for whom; for housekeeping. */
  sweep(signal?: AbortSignal): Promise<void> {
    const { store, agreements, clock } = this.#options;
    const next = (limit: number) => agreements.records.expiredSignUps(clock.now(), limit);
    return deleteInGroups(store, next, signal);
  }

  /** Takes away what an organisation that is deleted has at marketplaces; what it used is fixed to be reported. */
  async forget(organizationId: string): Promise<void> {
    const { agreements } = this.#options;
    for (const agreement of await agreements.ofOrganisation(organizationId)) {
      if (isAwsAgreement(agreement)) await this.#useEnds(agreement);
      await agreements.forget(agreement);
    }
  }

  async #begin(offer: Offer): Promise<Begun> {
    const { store, agreements, chance, clock } = this.#options;
    const [token, browser] = [newWord(chance), newWord(chance)];
    const signUp: SignUp = {
      hash: digest(token),
      browserHash: digest(browser),
      expiresAt: clock.now() + limits.marketplaceSignUpMsMax,
      offer,
    };
    await store.write(agreements.records.putSignUp(signUp));
    return { token, browser };
  }

  #signUp(token: string, browser: string | undefined): SignUp {
    const found = this.#options.agreements.records.signUp(digest(token));
    const isOpen = found !== undefined && found.expiresAt > this.#options.clock.now();
    if (!isOpen || browser === undefined || !isEqual(found.browserHash, digest(browser))) {
      throw new AppError(
        'not_found',
        'Nothing from a marketplace waits for this browser: it was more than an hour ago, or in another one.',
      );
    }
    return found;
  }

  /** What must still hold when the agreement is written. Errors: 409 where use is metered elsewhere. */
  async #meteredOnce(offer: Offer, organizationId: string): Promise<readonly Operation[]> {
    const { aws, agreements, cards } = this.#options;
    if (offer.marketplace !== 'aws' || aws?.metering.isMetered !== true) return [];
    const others = (await agreements.ofOrganisation(organizationId)).filter(isAwsAgreement);
    const lasting = others.find(({ endedAt, offer: { licenseArn } }) => {
      return endedAt === null && licenseArn !== offer.licenseArn;
    });
    if (lasting !== undefined) throw metersLicense(lasting.offer.licenseArn);
    if (cards === null) return [];
    if (cards.isCharged(organizationId)) throw paysByCard();
    return [cards.expectUncharged(organizationId)];
  }

  async #tierOf(offer: Offer): Promise<Tier | null> {
    const { aws, vercel } = this.#options;
    if (offer.marketplace === 'vercel') return vercel?.tier ?? null;
    if (aws === null) throw notSetUp('AWS Marketplace', 'QUARRY_AWS_MARKETPLACE');
    return aws.market.tierOf(offer);
  }

  async #setVariables(agreement: Agreement): Promise<VariablesState | null> {
    const { vercel } = this.#options;
    return vercel !== null && isVercel(agreement) ? vercel.variables.set(agreement) : null;
  }

  async #refresh({ offer, endedAt }: AwsAgreement): Promise<void> {
    const { agreements } = this.#options;
    const tier = endedAt === null ? await this.#tierOf(offer) : null;
    const after = await agreements.change(offer, (known) =>
      known === undefined || known.endedAt !== null || known.tier === tier
        ? null
        : { after: { ...known, tier } },
    );
    if (after !== undefined) await this.#settle(after);
  }

  async #end(agreement: Agreement): Promise<void> {
    const { agreements, clock, audit, vercel } = this.#options;
    const { offer, organizationId } = agreement;
    if (isAwsAgreement(agreement)) await this.#useEnds(agreement);
    // What opened its doors opens them no more.
    const emptied: Offer = offer.marketplace === 'aws' ? offer : { ...offer, sealedToken: new Uint8Array(0) };
    const fact = { ...system, organizationId, action: 'marketplace.ended', target: subjectOf(offer) };
    const noteEnd = () =>
      agreements.change(offer, (known) => {
        if (known === undefined || known.endedAt !== null) return null;
        const { sealedKey: _ended, variables: _over, ...kept } = known;
        return {
          after: { ...kept, offer: emptied, endedAt: clock.now() },
          alongside: [audit.entry({ ...fact, details: { marketplace: offer.marketplace } })],
        };
      });
    const isHolding = vercel !== null && isVercel(agreement);
    const ended = await (isHolding ? vercel.variables.end(agreement, noteEnd) : noteEnd());
    if (ended !== undefined) await this.#settle(ended);
  }

  /** The last hour is fixed before it is over: AWS takes nothing after the end. */
  async #useEnds(agreement: AwsAgreement): Promise<void> {
    const metering = this.#options.aws?.metering;
    if (metering === undefined || agreement.endedAt !== null) return;
    await metering.fixUntil(agreement, metering.hour + 1);
    await metering.report();
  }

  /** Applies what an agreement entitles to; a crash before that is noted applies it once more. */
  #settle({ offer, organizationId }: Agreement): Promise<void> {
    const { agreements, applyTier } = this.#options;
    return this.#grants.run(async () => {
      const known = agreements.records.agreement(offer.marketplace, subjectOf(offer));
      if (known === undefined || dueOf(known) === known.granted) return;
      const due = dueOf(known);
      await applyTier(organizationId, system);
      await agreements.change(offer, (latest) => (latest ? { after: { ...latest, granted: due } } : null));
    });
  }

  async #awsAgreements(): Promise<AwsAgreement[]> {
    const all = await this.#options.agreements.records.agreements('aws');
    return all.filter(isAwsAgreement).filter(({ endedAt, granted }) => endedAt === null || granted !== null);
  }
}

/** What an agreement entitles to as long as it lasts. */
function dueOf({ endedAt, tier }: Agreement): Tier | null {
  return endedAt === null ? tier : null;
}

function isVercel(agreement: Agreement): agreement is VercelAgreement {
  return agreement.offer.marketplace === 'vercel';
}

function newWord(chance: Chance): string {
  return Buffer.from(chance.bytes(32)).toString('base64url');
}

function digest(word: string): string {
  return digestOf('sha256', word, 'hex');
}

function isEqual(expected: string, given: string): boolean {
  return timingSafeEqual(Buffer.from(expected, 'hex'), Buffer.from(given, 'hex'));
}

const removals: ReadonlySet<string> = new Set([
  'integration-configuration.removed',
  'integration-configuration-removed',
]);
const widenings: ReadonlySet<string> = new Set([
  'integration-configuration.permission-upgraded',
  'integration-configuration.scope-change-confirmed',
]);

/** What a webhook is, and which installation it is about; null for none. */
function webhookOf(body: string): { readonly type: string; readonly installationId: string | null } {
  let said: { type?: unknown; payload?: { configuration?: { id?: unknown } } };
  try {
    said = Object(JSON.parse(body));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not JSON.', { cause });
  }
  const id = said.payload?.configuration?.id;
  const isId = typeof id === 'string' && id.length <= limits.marketplaceTextUnitsMax;
  return { type: String(said.type), installationId: isId ? id : null };
}

function notYours(): AppError {
  return new AppError('conflict', 'This purchase belongs to another organisation already.');
}

function metersLicense(licenseArn: string): AppError {
  return new AppError(
    'conflict',
    `The use of this organization is metered for the AWS license ${licenseArn} already, and would be charged twice: cancel that agreement at AWS first, or choose another organization for this purchase.`,
  );
}

function paysByCard(): AppError {
  return new AppError(
    'conflict',
    'The use of this organization is charged by its subscription here, and would be charged twice: pause or end the subscription first, or choose another organization for this purchase.',
  );
}

function notSetUp(what: string, setting: string): AppError {
  return new AppError('unavailable', `${what} is not set up: the operator has to set ${setting}.`, {
    shouldRetry: false,
  });
}
