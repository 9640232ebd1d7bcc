import { AppError } from '../core/app-error.ts';
import { FairQueue } from '../core/async/fair-queue.ts';
import { hasFairShare } from '../core/async/fair-share.ts';
import { withTimeout } from '../core/async/with-timeout.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { maskEmail } from './email-address.ts';
import {
  canConnect,
  createMailTransport,
  type MailMessage,
  type MailTransport,
  type MailTransportOptions,
} from './mail-transports.ts';

export interface MailerOptions extends MailTransportOptions {
  /** See `createMailTransport`; null disables mail. */
  readonly url: string | null;
  readonly logger: Logger;
  /** Maximum milliseconds that `close` waits for a slow mail server. */
  readonly closeMsMax: number;
  /** Maximum milliseconds of one delivery attempt; `limits.mailAttemptMsMax` if absent. */
  readonly attemptMsMax?: number;
}

/** Message that is not delivered yet. */
interface QueuedMessage {
  readonly message: MailMessage;
  /** Key whose share of the queue the message uses. */
  readonly key: string;
  attempts: number;
}

const attemptsMax = 3;
const retryMs = 2_000;

/**
 * Sends messages in the background with retries, so that no reply waits for a mail server or reveals by its
 * timing whether a message was sent. Several are sent concurrently, round robin by key and with few per key:
 * messages to a slow domain do not delay those to others. Queued messages are lost when the process ends,
 * which is logged; users can request them again.
 */
export class Mailer {
  readonly #options: MailerOptions;
  readonly #transport: MailTransport | null;
  /** Aborts when no more retries are made. */
  readonly #retriesStopped = new AbortController();
  /** Aborts when no more messages are sent. */
  readonly #sendingStopped = new AbortController();
  readonly #queue = new FairQueue<QueuedMessage>();
  /** Messages of keys that have reached their concurrency limit. */
  readonly #deferred = new Map<string, QueuedMessage[]>();
  readonly #runningByKey = new Map<string, number>();
  readonly #pendingByKey = new Map<string, number>();
  #running = 0;
  #pending = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: MailerOptions) {
    this.#options = options;
    const { url } = options;
    this.#transport = url === null || !canConnect(url, options) ? null : createMailTransport(url, options);
  }

  get isEnabled(): boolean {
    return this.#transport !== null;
  }

  /** Error that explains why no message can be sent. */
  unavailableError(): AppError {
    return this.#options.url === null ? mailDisabledError() : mailEgressDeniedError();
  }

  /**
   * Queues a message under `key`: the sending organization, else the domain of the recipient. Errors: 503
   * without a mail server, and if too many messages are queued.
   */
  enqueue(message: MailMessage, key: string = domainOf(message.to)): void {
    if (this.#transport === null) throw this.unavailableError();
    const pending = this.#pendingByKey.get(key) ?? 0;
    const holders = this.#pendingByKey.size + (pending === 0 ? 1 : 0);
    if (!hasFairShare({ held: pending, used: this.#pending, capacity: limits.mailsWaitingMax, holders })) {
      throw new AppError('unavailable', 'The email queue is full. Try again in a minute.', {
        retryAfterMs: 60_000,
      });
    }
    this.#pending += 1;
    this.#pendingByKey.set(key, pending + 1);
    this.#queue.add(key, { message, key, attempts: 0 });
    this.#sendQueued(this.#transport);
  }

  /** Attempts each queued message once. Discards messages not sent within `closeMsMax`. */
  async close(): Promise<void> {
    this.#retriesStopped.abort();
    const timer = setTimeout(() => this.#sendingStopped.abort(), this.#options.closeMsMax);
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    clearTimeout(timer);
    await this.#transport?.close();
  }

  #sendQueued(transport: MailTransport): void {
    while (this.#running < limits.mailsRunningMax) {
      const queued = this.#queue.take();
      if (queued === null) return;
      const { key } = queued;
      const running = this.#runningByKey.get(key) ?? 0;
      if (running >= limits.mailsRunningPerKeyMax) {
        this.#deferred.set(key, [...(this.#deferred.get(key) ?? []), queued]);
        continue;
      }
      this.#running += 1;
      this.#runningByKey.set(key, running + 1);
      void this.#attemptSend(transport, queued).then((isDone) =>
        this.#finishAttempt(transport, queued, isDone),
      );
    }
  }

  #finishAttempt(transport: MailTransport, queued: QueuedMessage, isDone: boolean): void {
    const { key, attempts } = queued;
    this.#running -= 1;
    decrement(this.#runningByKey, key);
    for (const deferred of this.#deferred.get(key) ?? []) this.#queue.add(key, deferred);
    this.#deferred.delete(key);
    if (isDone) {
      this.#pending -= 1;
      decrement(this.#pendingByKey, key);
      if (this.#pending === 0) this.#onIdle?.();
    } else {
      this.#runAfter(retryMs * attempts, () => {
        this.#queue.add(key, queued);
        this.#sendQueued(transport);
      });
    }
    this.#sendQueued(transport);
  }

  /** Makes one attempt. Returns true if the message is finished; never rejects. */
  async #attemptSend(transport: MailTransport, queued: QueuedMessage): Promise<boolean> {
    const { logger, attemptMsMax = limits.mailAttemptMsMax } = this.#options;
    const { message } = queued;
    const sendingStopped = this.#sendingStopped.signal;
    const to = maskEmail(message.to);
    queued.attempts += 1;
    const { attempts } = queued;
    try {
      sendingStopped.throwIfAborted();
      await withTimeout({ signal: sendingStopped, msMax: attemptMsMax }, (signal) =>
        transport.send(message, signal),
      );
      logger.info({ to, subject: message.subject }, 'mail sent');
      return true;
    } catch (error) {
      const reason = sendingStopped.aborted ? 'server shutdown' : errorReason(error);
      const isLast =
        attempts === attemptsMax || this.#retriesStopped.signal.aborted || isPermanentFailure(error);
      logger.warn(
        { to, tries: attempts, reason },
        isLast ? 'mail delivery failed, giving up' : 'mail delivery failed, will retry',
      );
      return isLast;
    }
  }

  /** Runs `work` after a delay, or immediately once retries are stopped. */
  #runAfter(ms: number, work: () => void): void {
    const { signal } = this.#retriesStopped;
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

function errorReason(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 500) : typeof error;
}

/** A permanent rejection by the mail server (5xx) would recur on retry. */
function isPermanentFailure(error: unknown): boolean {
  return error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;
}

function mailEgressDeniedError(): AppError {
  return new AppError(
    'unavailable',
    'This server cannot send email: QUARRY_EGRESS does not allow connections to the mail server. Ask the operator to allow them or to create a sign-in link with "quarry login-link".',
    { shouldRetry: false },
  );
}

function mailDisabledError(): AppError {
  return new AppError(
    'unavailable',
    'This server cannot send email: QUARRY_MAIL_URL is not set. Ask the operator to set it or to create a sign-in link with "quarry login-link".',
    { shouldRetry: false },
  );
}
