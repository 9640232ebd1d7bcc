import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import { deleteInBatches } from '../storage/delete-in-batches.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import { UsedLinks } from '../storage/used-links.ts';
import { generateToken, hashToken } from './secret-token.ts';

const sealingContext = 'sign-in link';
/**
 * Milliseconds for which a used link is kept after its expiry, so that setting the clock back does not make
 * it valid again.
 */
const usedLinkRetentionMs = 86_400_000;
/** Maximum token length: an address, a redirect target and the sealing overhead. */
const tokenUnitsMax = 8_192;

/** Sign-in link that works once. */
export interface MagicLink {
  /** SHA-256 of random bytes in the link, lower-case hexadecimal. */
  readonly hash: string;
  /** Address of the user to sign in; null for the operator of the installation. */
  readonly email: string | null;
  /** SHA-256 of the token held by the browser that requested the link; null if no browser did. */
  readonly browserHash: string | null;
  /** Redirect target: a path of this server. */
  readonly redirect: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface MagicLinkInput {
  /** Normalized; null for the operator of the installation. */
  readonly email: string | null;
  readonly redirect: string;
  /** Token held by the requesting browser; null for the operator's link, which no browser requested. */
  readonly browserToken: string | null;
}

/**
 * Sign-in links, each valid once for some minutes. A link carries its contents encrypted and authenticated,
 * so an anonymous request for one writes nothing; only its use is stored. A newer link does not invalidate an
 * older one: otherwise anyone could invalidate the owner's links by requesting new ones. Only the operator
 * requests operator links, so the newest of them invalidates the others.
 */
export class MagicLinks {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #sealer: Sealer;
  readonly #usedLinks: UsedLinks;
  /** Hash of the newest operator link. A link is issued when the server starts. */
  #operatorLinkHash: string | null = null;

  constructor(options: {
    readonly store: Store;
    readonly clock: Clock;
    readonly random: Random;
    readonly sealer: Sealer;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#sealer = options.sealer;
    this.#usedLinks = new UsedLinks(options.store);
  }

  /** Returns the token of a new link. */
  issue({ email, redirect, browserToken }: MagicLinkInput): string {
    const msMax = email === null ? limits.loginLinkMsMax : limits.magicLinkMsMax;
    const link: MagicLink = {
      hash: hashToken(generateToken('', this.#random)),
      email,
      browserHash: browserToken === null ? null : hashToken(browserToken),
      redirect,
      expiresAt: this.#clock.now() + msMax,
    };
    if (email === null) this.#operatorLinkHash = link.hash;
    return sealToText(this.#sealer, link, sealingContext);
  }

  /** Returns the link of a token. Errors: 400 with the same message for every invalid token. */
  verify(token: string): MagicLink {
    const link =
      token.length > tokenUnitsMax ? null : openSealedText<MagicLink>(this.#sealer, token, sealingContext);
    if (link === null || this.#isInvalid(link)) throw invalidLinkError();
    return link;
  }

  #isInvalid({ email, hash, expiresAt }: MagicLink): boolean {
    const isReplaced = email === null && hash !== this.#operatorLinkHash;
    return isReplaced || expiresAt <= this.#clock.now() || this.#usedLinks.has(hash);
  }

  /** Operations to be written with the sign-in. The write fails if the link was used meanwhile. */
  consume(link: MagicLink): WriteOperation[] {
    return this.#usedLinks.markUsed(link);
  }

  /**
   * Deletes records of links that expired more than `usedLinkRetentionMs` ago. Called by periodic
   * maintenance.
   */
  sweep(now: number, signal?: AbortSignal): Promise<void> {
    const before = now - usedLinkRetentionMs;
    return deleteInBatches(this.#store, (limit) => this.#usedLinks.deleteExpired(before, limit), signal);
  }
}

/** Whether the browser holds the token that it received when it requested the link. */
export function isSameBrowser({ browserHash }: MagicLink, browserToken: string | undefined): boolean {
  if (browserHash === null || browserToken === undefined) return false;
  return timingSafeEqual(Buffer.from(browserHash, 'hex'), Buffer.from(hashToken(browserToken), 'hex'));
}

export function invalidLinkError(): AppError {
  return new AppError('bad_request', 'This link is invalid or has expired. Request a new one.');
}
