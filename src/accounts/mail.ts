import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { withTimeout } from '../base/with-timeout.ts';
import { FairQueue } from '../core/async/fair-queue.ts';
import { hasFairShare } from '../core/async/fair-share.ts';
import { maskedEmail } from './email-address.ts';
import {
  type Letter,
  type MailTransport,
  type MailTransportOptions,
  mayConnect,
  transportOf,
} from './mail-transports.ts';

export interface MailOptions extends MailTransportOptions {
  /** See `transportOf`; null sends nothing. */
  readonly url: string | null;
  readonly logger: Logger;
  /** How long the end waits for a mail server that takes its time. */
  readonly closeMsMax: number;
  /** How long one try to hand a letter over may take; `limits.mailTryMsMax` when absent. */
  readonly tryMsMax?: number;
}

/** A letter that was not handed over yet. */
interface Posted {
  readonly letter: Letter;
  /** On whose account it waits. */
  readonly key: string;
  tries: number;
}

const triesMax = 3;
const retryMs = 2_000;

/**
 * Sends letters in the background, and tries again when one cannot be handed over, so that no reply waits for a mail
 * server or tells by its time whether there was a letter. Some are sent at a time, round robin between the keys on whose
 * account they wait, and few of one key: letters to one domain that takes its time do not hold up those to others.
 * Letters that wait are lost with the process, which says so in its log: who misses one asks again.
 */
export class Mail {
  readonly #options: MailOptions;
  readonly #transport: MailTransport | null;
  /** Nothing is tried again. */
  readonly #stopped = new AbortController();
  /** Nothing is tried. */
  readonly #over = new AbortController();
  readonly #queue = new FairQueue<Posted>();
  /** Letters of keys of which enough are being sent. */
  readonly #parked = new Map<string, Posted[]>();
  readonly #runningOf = new Map<string, number>();
  readonly #heldOf = new Map<string, number>();
  #running = 0;
  #held = 0;
  #whenIdle: (() => void) | null = null;

  constructor(options: MailOptions) {
    this.#options = options;
    const { url } = options;
    this.#transport = url === null || !mayConnect(url, options) ? null : transportOf(url, options);
  }

  get isOn(): boolean {
    return this.#transport !== null;
  }

  /** Why no letter can be sent. */
  off(): AppError {
    return this.#options.url === null ? mailOff() : mailRefused();
  }

  /**
   * Queues a letter, on the account of `key`: the organization that sends it, else the domain that it goes to. Errors:
   * 503 without a mail server, and when too many letters wait.
   */
  post(letter: Letter, key: string = domainOf(letter.to)): void {
    if (this.#transport === null) throw this.off();
    const held = this.#heldOf.get(key) ?? 0;
    const holders = this.#heldOf.size + (held === 0 ? 1 : 0);
    if (!hasFairShare({ held, taken: this.#held, capacity: limits.mailsWaitingMax, holders })) {
      throw new AppError('unavailable', 'Too many mails wait to be sent; try again in a minute.', {
        retryAfterMs: 60_000,
      });
    }
    this.#held += 1;
    this.#heldOf.set(key, held + 1);
    this.#queue.add(key, { letter, key, tries: 0 });
    this.#sendWaiting(this.#transport);
  }

  /** Sends what waits, once each; what is not sent in time is given up. */
  async close(): Promise<void> {
    this.#stopped.abort();
    const timer = setTimeout(() => this.#over.abort(), this.#options.closeMsMax);
    if (this.#held > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    clearTimeout(timer);
    await this.#transport?.close();
  }

  #sendWaiting(transport: MailTransport): void {
    while (this.#running < limits.mailsRunningMax) {
      const posted = this.#queue.take();
      if (posted === null) return;
      const { key } = posted;
      const running = this.#runningOf.get(key) ?? 0;
      if (running >= limits.mailsRunningPerKeyMax) {
        this.#parked.set(key, [...(this.#parked.get(key) ?? []), posted]);
        continue;
      }
      this.#running += 1;
      this.#runningOf.set(key, running + 1);
      void this.#send(transport, posted).then((isDone) => this.#sent(transport, posted, isDone));
    }
  }

  #sent(transport: MailTransport, posted: Posted, isDone: boolean): void {
    const { key, tries } = posted;
    this.#running -= 1;
    decrement(this.#runningOf, key);
    for (const parked of this.#parked.get(key) ?? []) this.#queue.add(key, parked);
    this.#parked.delete(key);
    if (isDone) {
      this.#held -= 1;
      decrement(this.#heldOf, key);
      if (this.#held === 0) this.#whenIdle?.();
    } else {
      this.#after(retryMs * tries, () => {
        this.#queue.add(key, posted);
        this.#sendWaiting(transport);
      });
    }
    this.#sendWaiting(transport);
  }

  /** One try. Whether nothing more is to be done; never rejects. */
  async #send(transport: MailTransport, posted: Posted): Promise<boolean> {
    const { logger, tryMsMax = limits.mailTryMsMax } = this.#options;
    const { letter } = posted;
    const over = this.#over.signal;
    const to = maskedEmail(letter.to);
    posted.tries += 1;
    const { tries } = posted;
    try {
      over.throwIfAborted();
      await withTimeout({ signal: over, msMax: tryMsMax }, (signal) => transport.send(letter, signal));
      logger.info({ to, subject: letter.subject }, 'mail sent');
      return true;
    } catch (error) {
      const reason = over.aborted ? 'the server stops' : reasonOf(error);
      const isLast = tries === triesMax || this.#stopped.signal.aborted || isRefused(error);
      logger.warn({ to, tries, reason }, isLast ? 'mail given up' : 'mail not sent, trying again');
      return isLast;
    }
  }

  /** At once when nothing is to be tried again. */
  #after(ms: number, work: () => void): void {
    const { signal } = this.#stopped;
    const begin = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', begin);
      work();
    };
    const timer = setTimeout(begin, ms);
    signal.addEventListener('abort', begin);
  }
}

function decrement(counts: Map<string, number>, key: string): void {
  const count = (counts.get(key) ?? 0) - 1;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 500) : typeof error;
}

/** A mail server that refuses a letter for good (5xx) refuses it again. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;
}

function mailRefused(): AppError {
  return new AppError(
    'unavailable',
    'This server sends no mail: QUARRY_EGRESS does not let it connect to the mail server. Its operator has to change that, or to hand out sign-in links with "quarry login-link".',
    { shouldRetry: false },
  );
}

function mailOff(): AppError {
  return new AppError(
    'unavailable',
    'This server sends no mail: its operator has to set QUARRY_MAIL_URL, or to hand out sign-in links with "quarry login-link".',
    { shouldRetry: false },
  );
}
