import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { Mutex } from '../core/async/mutex.ts';
import { type SignInLink, SignInLinks } from '../store/sign-in-links.ts';
import type { Operation, Store } from '../store/store.ts';
import { newToken, tokenDigest } from './secret-token.ts';

const graceMs = 60_000;
const sweptMax = 1_000;
const tokenShape = /^[A-Za-z0-9_-]{43}$/;

export interface LinkWanted {
  /** Normalised; null for the operator of the installation. */
  readonly email: string | null;
  readonly redirect: string;
}

/**
 * Links that sign somebody in: each works once, for some minutes, and only until a newer one is made for the same
 * address. What is stored opens nothing.
 */
export class MagicLinks {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #records: SignInLinks;
  readonly #changes = new Mutex();

  constructor(options: { readonly store: Store; readonly clock: Clock; readonly chance: Chance }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#chance = options.chance;
    this.#records = new SignInLinks(options.store);
  }

  /** `browser` is for the browser that asked: it alone needs no confirmation. */
  issue(wanted: LinkWanted): Promise<{ readonly token: string; readonly browser: string }> {
    return this.#changes.run(async () => {
      const token = newToken('', this.#chance);
      const browser = newToken('', this.#chance);
      const msMax = wanted.email === null ? limits.loginLinkMsMax : limits.magicLinkMsMax;
      const link: SignInLink = {
        ...wanted,
        hash: tokenDigest(token),
        browserHash: wanted.email === null ? null : tokenDigest(browser),
        expiresAt: this.#clock.now() + msMax,
      };
      // Also on a full disk: whoever has to make room, or to end something, must get in.
      await this.#store.write(this.#records.put(link), { mayUseReserve: true });
      return { token, browser };
    });
  }

  /** What a token stands for. Errors: 400 with one sentence for every token that opens nothing. */
  find(token: string): SignInLink {
    const link = tokenShape.test(token) ? this.#records.byHash(tokenDigest(token)) : undefined;
    if (link === undefined || link.expiresAt <= this.#clock.now()) throw deadLink();
    return link;
  }

  /** To be written with the sign-in; refuses the write when the link was used meanwhile. */
  consume(link: SignInLink): Operation[] {
    return this.#records.consume(link);
  }

  /** Forgets the links whose time is up; for housekeeping. */
  async sweep(): Promise<void> {
    // A sign-in that began just before the end may still be on its way.
    const expired = await this.#records.expired(this.#clock.now() - graceMs, sweptMax);
    await this.#store.write(
      expired.flatMap((link) => this.#records.forget(link)),
      { mayUseReserve: true },
    );
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
