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
/** How long a used link is remembered after its end: a clock that is set back must not make it work again. */
const usedLinkRetentionMs = 86_400_000;
/** Longest token: an address, a redirection and what encloses them. */
const tokenUnitsMax = 8_192;

/** A link that signs somebody in, once. */
export interface MagicLink {
  /** SHA-256 of random bytes in the link, lower-case hex. */
  readonly hash: string;
  /** Whom it signs in: the owner of this address; null for the operator of the installation. */
  readonly email: string | null;
  /** SHA-256 of what the browser that asked for it holds; null where no browser asked for it. */
  readonly browserHash: string | null;
  /** Where the browser goes then: a path of this server. */
  readonly redirect: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface MagicLinkInput {
  /** Normalised; null for the operator of the installation. */
  readonly email: string | null;
  readonly redirect: string;
  /** What the browser that asks holds; null for the operator's link, which no browser asked for. */
  readonly browserToken: string | null;
}

/**
 * Links that sign somebody in: each works once, for some minutes. A link carries what it stands for, encrypted and
 * authenticated, so that an anonymous request for one writes nothing; only the use of a link is stored. A newer link
 * does not end an older one: else a stranger who asks for links would end those of the owner. Nobody but the operator
 * asks for the operator's links, so the newest of them ends the others.
 */
export class MagicLinks {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #sealer: Sealer;
  readonly #usedLinks: UsedLinks;
  /** Hash of the newest link of the operator; the start of the server makes one. */
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

  /** The token of a new link. */
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

  /** What a token stands for. Errors: 400 with one sentence for every token that opens nothing. */
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

  /** To be written with the sign-in; refuses the write when the link was used meanwhile. */
  consume(link: MagicLink): WriteOperation[] {
    return this.#usedLinks.markUsed(link);
  }

  /** Forgets the links whose time is long up; for housekeeping. */
  sweep(now: number, signal?: AbortSignal): Promise<void> {
    const before = now - usedLinkRetentionMs;
    return deleteInBatches(this.#store, (limit) => this.#usedLinks.deleteExpired(before, limit), signal);
  }
}

/** Whether the browser holds what it was given when it asked for the link. */
export function isSameBrowser({ browserHash }: MagicLink, browserToken: string | undefined): boolean {
  if (browserHash === null || browserToken === undefined) return false;
  return timingSafeEqual(Buffer.from(browserHash, 'hex'), Buffer.from(hashToken(browserToken), 'hex'));
}

export function invalidLinkError(): AppError {
  return new AppError('bad_request', 'This link is invalid or has expired.');
}
