import { createCipheriv, hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { type Agreement, type Offer, type SignUp, subjectOf } from '../store/marketplaces.ts';
import { type Tier, tiers } from '../store/organisations.ts';
import type { Store } from '../store/store.ts';
import type { Agreements } from './agreements.ts';
import type { AwsMarket } from './aws-market.ts';
import { type AwsAgreement, hourMs, type Metering } from './metering.ts';
import type { SnsInbox } from './sns-inbox.ts';
import type { VercelApi } from './vercel-api.ts';

export interface AwsParts {
  readonly market: AwsMarket;
  readonly metering: Metering;
  /** Null where no topic is set up. */
  readonly inbox: SnsInbox | null;
}

export interface VercelParts {
  readonly api: VercelApi;
  /** What an installation entitles to; null for nothing. */
  readonly tier: Tier | null;
}

export interface MarketplacesOptions {
  readonly store: Store;
  readonly agreements: Agreements;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly audit: AuditLog;
  readonly logger: Logger;
  /** Seals what opens the doors of marketplaces. */
  readonly secret: Uint8Array;
  /** Null for a marketplace that is not set up. */
  readonly aws: AwsParts | null;
  readonly vercel: VercelParts | null;
  /** Gives an organisation the tier that it `has` bought, in place of what it `had`; null: none. Harmless twice. */
  readonly grant: (
    organizationId: string,
    bought: { readonly had: Tier | null; readonly has: Tier | null },
    by: Actor,
  ) => Promise<void>;
  /** 429 for who asks too often. */
  readonly admit: (address: string) => void;
}

/** What somebody who comes from a marketplace takes along: `token` in the address, `browser` in a cookie. */
export interface Begun {
  readonly token: string;
  readonly browser: string;
}

/** What a sign-up, or an agreement, is. */
export interface Bound {
  readonly marketplace: Offer['marketplace'];
  readonly tier: Tier | null;
  /** Where the marketplace wants the browser back; null for nowhere. */
  readonly next: string | null;
}

const system: Actor = { actor: 'system', address: null };
const sweptMax = 1_000;
const cipher = 'aes-256-gcm';

/**
 * People who come from a marketplace, and what their organisations have there. Whoever comes has an hour to sign in and to
 * say, in the same browser, which organisation it is for. An agreement belongs to one organisation; coming again with it
 * changes nothing.
 */
export class Marketplaces {
  readonly #options: MarketplacesOptions;

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
    const { accessToken, ...installation } = await vercel.api.exchange(given.code);
    const sealedToken = this.#seal(accessToken, installation.installationId);
    return this.#begin({ marketplace: 'vercel', ...installation, sealedToken, next });
  }

  /** What waits for this browser. 404 for everything that does not. */
  look(
    token: string,
    browser: string | undefined,
  ): Pick<Bound, 'marketplace'> & { readonly expiresAt: number } {
    const { offer, expiresAt } = this.#signUp(token, browser);
    return { marketplace: offer.marketplace, expiresAt };
  }

  /** Errors: 404 nothing waits for this browser, 409 it is another organisation's, 502, 503. */
  async bind(
    { token, browser }: { readonly token: string; readonly browser: string | undefined },
    organizationId: string,
    by: Actor,
  ): Promise<Bound> {
    const { offer } = this.#signUp(token, browser);
    const { agreements, clock, audit } = this.#options;
    const tier = await this.#tierOf(offer);
    const agreement = await agreements.change(offer, (known) => {
      if (known !== undefined && known.organizationId !== organizationId) throw notYours();
      if (known?.endedAt === null) return { after: { ...known, offer, tier } };
      const now = clock.now();
      // Use before it was bought is not billed: the first whole hour is the first.
      const hour = Math.ceil(now / hourMs);
      const beginning = { boundAt: now, endedAt: null, hour, carried: {}, granted: known?.granted ?? null };
      const fact = { ...by, organizationId, action: 'marketplace.bound', target: subjectOf(offer) };
      return {
        after: { offer, organizationId, tier, ...beginning },
        alongside: [audit.entry({ ...fact, details: { marketplace: offer.marketplace, tier } })],
      };
    });
    if (agreement !== undefined) await this.#settle(agreement);
    return { marketplace: offer.marketplace, tier, next: offer.marketplace === 'vercel' ? offer.next : null };
  }

  /**
   * A message of SNS about agreements. It is only a hint: what they entitle to is asked of AWS. Errors: 400 for what SNS
   * did not send to us, 502, 503.
   */
  async awsEvent(text: string): Promise<void> {
    const inbox = this.#options.aws?.inbox ?? null;
    if (inbox === null) throw notSetUp('Messages of AWS Marketplace', 'QUARRY_AWS_TOPIC_ARNS');
    const message = await inbox.open(text);
    if (message === null) return;
    for (const agreement of await this.#awsAgreements()) {
      const { licenseArn, customerId } = agreement.offer;
      if (!mentions(message, licenseArn) && !(customerId !== null && mentions(message, customerId))) continue;
      if (isEnding(message)) await this.#useEnds(agreement);
      if (isEnd(message)) await this.#end(agreement);
      else await this.#refresh(agreement);
    }
  }

  /** A webhook of Vercel. Errors: 400 for one that it did not sign, 503 not set up. */
  async vercelEvent(body: Uint8Array, signature: string): Promise<void> {
    const { vercel } = this.#options;
    if (vercel === null) throw notSetUp('Vercel', 'QUARRY_VERCEL_CLIENT_ID');
    if (!vercel.api.isSigned(body, signature)) {
      throw new AppError('bad_request', 'x-vercel-signature does not fit the body.');
    }
    const installationId = removedInstallation(Buffer.from(body).toString('utf8'));
    if (installationId === null) return;
    const agreement = this.#options.agreements.records.agreement('vercel', installationId);
    if (agreement !== undefined && agreement.endedAt === null) await this.#end(agreement);
  }

  /** Asks again what agreements entitle to, and mends what a crash left; for housekeeping. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { aws, vercel, agreements } = this.#options;
    if (aws !== null) {
      for (const agreement of await this.#awsAgreements()) {
        if (signal.aborted) return;
        await this.#refresh(agreement);
      }
    }
    if (vercel === null) return;
    for (const each of await agreements.records.agreements('vercel')) await this.#settle(each);
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
  async sweep(): Promise<void> {
    const { store, agreements, clock } = this.#options;
    const expired = await agreements.records.expiredSignUps(clock.now(), sweptMax);
    await store.write(expired, { mayUseReserve: true });
  }

  /** Takes away what an organisation that is deleted has at marketplaces; what it used is fixed to be reported. */
  async forget(organizationId: string): Promise<void> {
    const { agreements } = this.#options;
    for (const agreement of await agreements.ofOrganisation(organizationId)) {
      if (isAws(agreement)) await this.#useEnds(agreement);
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

  async #tierOf(offer: Offer): Promise<Tier | null> {
    const { aws, vercel } = this.#options;
    if (offer.marketplace === 'vercel') return vercel?.tier ?? null;
    if (aws === null) throw notSetUp('AWS Marketplace', 'QUARRY_AWS_MARKETPLACE');
    return aws.market.tierOf(offer);
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
    if (isAws(agreement)) await this.#useEnds(agreement);
    const { agreements, clock, audit } = this.#options;
    const { offer, organizationId } = agreement;
    // What opened its doors opens them no more.
    const emptied: Offer = offer.marketplace === 'aws' ? offer : { ...offer, sealedToken: new Uint8Array(0) };
    const fact = { ...system, organizationId, action: 'marketplace.ended', target: subjectOf(offer) };
    const ended = await agreements.change(offer, (known) => {
      if (known === undefined || known.endedAt !== null) return null;
      return {
        after: { ...known, offer: emptied, endedAt: clock.now() },
        alongside: [audit.entry({ ...fact, details: { marketplace: offer.marketplace } })],
      };
    });
    if (ended !== undefined) await this.#settle(ended);
  }

  /** The last hour is fixed before it is over: AWS takes nothing after the end. */
  async #useEnds(agreement: AwsAgreement): Promise<void> {
    const metering = this.#options.aws?.metering;
    if (metering === undefined || agreement.endedAt !== null) return;
    await metering.fixUntil(agreement, metering.hour + 1);
    await metering.report();
  }

  /** Grants the organisation the highest of what it has; a crash before that is noted grants it once more. */
  async #settle({ offer, organizationId, endedAt, tier, granted }: Agreement): Promise<void> {
    const { agreements, grant } = this.#options;
    const due = endedAt === null ? tier : null;
    if (due === granted) return;
    const lasting = (await agreements.ofOrganisation(organizationId)).filter((each) => each.endedAt === null);
    const highest = Math.max(
      -1,
      ...lasting.map((each) => (each.tier === null ? -1 : tiers.indexOf(each.tier))),
    );
    await grant(organizationId, { had: granted, has: tiers[highest] ?? null }, system);
    await agreements.change(offer, (known) => (known ? { after: { ...known, granted: due } } : null));
  }

  async #awsAgreements(): Promise<AwsAgreement[]> {
    const all = await this.#options.agreements.records.agreements('aws');
    return all.filter(isAws).filter(({ endedAt, granted }) => endedAt === null || granted !== null);
  }

  #seal(accessToken: string, installationId: string): Uint8Array {
    const { chance, secret } = this.#options;
    const iv = chance.bytes(12);
    const sealing = createCipheriv(cipher, secret, iv).setAAD(Buffer.from(installationId));
    const sealed = Buffer.concat([sealing.update(accessToken, 'utf8'), sealing.final()]);
    return Buffer.concat([iv, sealing.getAuthTag(), sealed]);
  }
}

function isAws(agreement: Agreement): agreement is AwsAgreement {
  return agreement.offer.marketplace === 'aws';
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

/** Whether a message names an id, and not only one that begins so. */
function mentions(message: string, id: string): boolean {
  for (let at = message.indexOf(id); at >= 0; at = message.indexOf(id, at + 1)) {
    if (!/[A-Za-z0-9-]/.test(message.charAt(at + id.length))) return true;
  }
  return false;
}

/** The old messages name an action, those of EventBridge a type of detail. */
function wordOf(message: string): string {
  try {
    const said = Object(JSON.parse(message)) as Record<string, unknown>;
    return String(said.action ?? said['detail-type'] ?? '');
  } catch {
    return ''; // Text for people: it says nothing that a program could do.
  }
}

function isEnding(message: string): boolean {
  return wordOf(message) === 'unsubscribe-pending';
}

function isEnd(message: string): boolean {
  const word = wordOf(message);
  return word === 'unsubscribe-success' || word.startsWith('License Deprovisioned');
}

/** The installation that a webhook says was removed; null for every other webhook. */
function removedInstallation(body: string): string | null {
  let said: { type?: unknown; payload?: { configuration?: { id?: unknown } } };
  try {
    said = Object(JSON.parse(body));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not JSON.', { cause });
  }
  const isRemoval =
    said.type === 'integration-configuration.removed' || said.type === 'integration-configuration-removed';
  const id = said.payload?.configuration?.id;
  return isRemoval && typeof id === 'string' && id.length <= limits.marketplaceTextUnitsMax ? id : null;
}

function notYours(): AppError {
  return new AppError('conflict', 'This purchase belongs to another organisation already.');
}

function notSetUp(what: string, setting: string): AppError {
  return new AppError('unavailable', `${what} is not set up: the operator has to set ${setting}.`, {
    shouldRetry: false,
  });
}
