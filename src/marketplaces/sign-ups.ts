import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { Sealer } from '../core/sealer.ts';
import { deleteInBatches } from '../storage/delete-in-batches.ts';
import type { MarketplaceOffer, MarketplaceSignUp } from '../storage/marketplaces.ts';
import type { Store } from '../storage/store.ts';
import type { Agreements } from './agreements.ts';
import { type ConfiguredMarketplaces, notConfiguredError } from './configured-marketplaces.ts';

export interface SignUpsOptions extends ConfiguredMarketplaces {
  readonly store: Store;
  readonly agreements: Agreements;
  readonly clock: Clock;
  readonly random: Random;
  /** Seals access tokens of marketplaces. */
  readonly sealer: Sealer;
  /** Errors: 429 for too many sign-ups from an address. */
  readonly checkSignUpRate: (address: string) => void;
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

/** Sign-ups from marketplaces. A user has one hour to sign in, in the same browser, and to bind the purchase. */
export class SignUps {
  readonly #options: SignUpsOptions;

  constructor(options: SignUpsOptions) {
    this.#options = options;
  }

  /**
   * Starts a sign-up from AWS with its token. Errors: 400 for an invalid token; 429; 502; 503 if AWS is not
   * configured.
   */
  async beginAws(token: string, address: string): Promise<SignUpTokens> {
    const { aws, checkSignUpRate } = this.#options;
    if (aws === null) throw notConfiguredError('AWS Marketplace', 'QUARRY_AWS_MARKETPLACE');
    if (token === '' || token.length > limits.marketplaceTextUnitsMax) {
      throw new AppError('bad_request', 'x-amzn-marketplace-token is missing or invalid.');
    }
    checkSignUpRate(address);
    return this.#create(await aws.client.resolveCustomer(token));
  }

  /**
   * Starts a sign-up from Vercel with its code. Errors: 400 for an invalid code or `next`; 429; 502; 503 if
   * Vercel is not configured.
   */
  async beginVercel(
    callback: { readonly code: string; readonly next: string },
    address: string,
  ): Promise<SignUpTokens> {
    const { vercel, sealer, checkSignUpRate } = this.#options;
    if (vercel === null) throw notConfiguredError('Vercel', 'QUARRY_VERCEL_CLIENT_ID');
    const next = vercel.api.parseNextUrl(callback.next);
    if (callback.code === '' || callback.code.length > limits.marketplaceTextUnitsMax) {
      throw new AppError('bad_request', 'code is missing or is not a Vercel code.');
    }
    checkSignUpRate(address);
    const installationWithToken = await vercel.api.exchangeCode(callback.code);
    const { accessToken, ...installation } = installationWithToken;
    const sealedToken = sealer.seal(accessToken, installation.installationId);
    const account = (await vercel.api.findAccountName(installationWithToken)) ?? installation.teamId;
    return this.#create({ marketplace: 'vercel', ...installation, account, sealedToken, next });
  }

  /** Returns the pending sign-up of this browser. Errors: 404 if there is none. */
  get(token: string, browserToken: string | undefined): PendingSignUp {
    const { offer, expiresAt } = this.require(token, browserToken);
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

  /** Returns the sign-up that waits for this browser. Errors: 404 if there is none. */
  require(token: string, browser: string | undefined): MarketplaceSignUp {
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

  /** Deletes expired sign-ups that were never bound. Called by periodic maintenance. */
  sweep(signal?: AbortSignal): Promise<void> {
    const { store, agreements, clock } = this.#options;
    const next = (limit: number) => agreements.records.deleteExpiredSignUps(clock.now(), limit);
    return deleteInBatches(store, next, signal);
  }

  async #create(offer: MarketplaceOffer): Promise<SignUpTokens> {
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
