import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { openText, sealToText } from '../base/sealed-text.ts';
import type { Sealing } from '../base/sealing.ts';
import { deleteInGroups } from '../store/delete-in-groups.ts';
import type { Operation, Store } from '../store/store.ts';
import { UsedLinks } from '../store/used-links.ts';
import { newToken, tokenDigest } from './secret-token.ts';

const context = 'sign-in link';
/** How long a used link is remembered after its end: a clock that is set back must not make it work again. */
const graceMs = 86_400_000;
/** Longest token: an address, a redirection and what encloses them. */
const tokenUnitsMax = 8_192;

/** A link that signs somebody in, once. */
export interface SignInLink {
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

export interface LinkWanted {
  /** Normalised; null for the operator of the installation. */
  readonly email: string | null;
  readonly redirect: string;
  /** What the browser that asks holds; null for the operator's link, which no browser asked for. */
  readonly browser: string | null;
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
  readonly #chance: Chance;
  readonly #sealing: Sealing;
  readonly #used: UsedLinks;
  /** Hash of the newest link of the operator; the start of the server makes one. */
  #operatorLink: string | null = null;

  constructor(options: {
    readonly store: Store;
    readonly clock: Clock;
    readonly chance: Chance;
    readonly sealing: Sealing;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#chance = options.chance;
    this.#sealing = options.sealing;
    this.#used = new UsedLinks(options.store);
  }

  /** The token of a new link. */
  issue({ email, redirect, browser }: LinkWanted): string {
    const msMax = email === null ? limits.loginLinkMsMax : limits.magicLinkMsMax;
    const link: SignInLink = {
      hash: tokenDigest(newToken('', this.#chance)),
      email,
      browserHash: browser === null ? null : tokenDigest(browser),
      redirect,
      expiresAt: this.#clock.now() + msMax,
    };
    if (email === null) this.#operatorLink = link.hash;
    return sealToText(this.#sealing, link, context);
  }

  /** What a token stands for. Errors: 400 with one sentence for every token that opens nothing. */
  find(token: string): SignInLink {
    const link = token.length > tokenUnitsMax ? null : openText<SignInLink>(this.#sealing, token, context);
    if (link === null || this.#isDead(link)) throw deadLink();
    return link;
  }

  #isDead({ email, hash, expiresAt }: SignInLink): boolean {
    const isReplaced = email === null && hash !== this.#operatorLink;
    return isReplaced || expiresAt <= this.#clock.now() || this.#used.has(hash);
  }

  /** To be written with the sign-in; refuses the write when the link was used meanwhile. */
  consume(link: SignInLink): Operation[] {
    return this.#used.use(link);
  }

  /** Forgets the links whose time is long up; for housekeeping. */
  sweep(now: number, signal?: AbortSignal): Promise<void> {
    const before = now - graceMs;
    return deleteInGroups(this.#store, (limit) => this.#used.expired(before, limit), signal);
  }
}

/** Whether the browser holds what it was given when it asked for the link. */
export function isSameBrowser({ browserHash }: SignInLink, browser: string | undefined): boolean {
  if (browserHash === null || browser === undefined) return false;
  return timingSafeEqual(Buffer.from(browserHash, 'hex'), Buffer.from(tokenDigest(browser), 'hex'));
}

export function deadLink(): AppError {
  return new AppError('bad_request', 'This link is invalid or has expired.');
}
