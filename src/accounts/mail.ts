import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { maskedEmail } from './email-address.ts';

/** A letter to one person. The subject is one line; the text may have several. */
export interface Letter {
  /** Normalised. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Hands letters over, one at a time; rejects when one could not be, at the latest when `signal` aborts. */
interface Transport {
  send(letter: Letter, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface MailOptions {
  /** `smtp://user:password@host:port`, `smtps://...`, `file:///a/folder`, or `console:`; null sends nothing. */
  readonly url: string | null;
  /** Sender, as a plain address. */
  readonly from: string;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
  /** Where `console:` prints. */
  readonly print: (text: string) => void;
  /** How long the end waits for a mail server that takes its time. */
  readonly closeMsMax: number;
}

const triesMax = 3;
const retryMs = 2_000;

/**
 * Sends letters in the background, one after another, and tries again when one cannot be handed over, so that no reply
 * waits for a mail server or tells by its time whether there was a letter. Letters that wait are lost with the process,
 * which says so in its log: whoever misses one asks again.
 */
export class Mail {
  readonly #options: MailOptions;
  readonly #transport: Transport | null;
  /** Nothing is tried again. */
  readonly #stopped = new AbortController();
  /** Nothing is tried. */
  readonly #over = new AbortController();
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: MailOptions) {
    this.#options = options;
    this.#transport = options.url === null ? null : transportOf(options.url, options);
  }

  get isOn(): boolean {
    return this.#transport !== null;
  }

  /** Queues a letter. 503 without a mail server, and when too many letters wait. */
  post(letter: Letter): void {
    const transport = this.#transport;
    if (transport === null) throw mailOff();
    if (this.#waiting >= limits.mailsWaitingMax) {
      throw new AppError('unavailable', 'Too many mails wait to be sent; try again in a minute.', {
        retryAfterMs: 60_000,
      });
    }
    this.#waiting += 1;
    this.#last = this.#last.then(async () => {
      await this.#deliver(transport, letter);
      this.#waiting -= 1;
    });
  }

  /** Sends what waits, once each; what is not sent in time is given up. */
  async close(): Promise<void> {
    this.#stopped.abort();
    const timer = setTimeout(() => this.#over.abort(), this.#options.closeMsMax);
    await this.#last;
    clearTimeout(timer);
    await this.#transport?.close();
  }

  /** Never rejects. */
  async #deliver(transport: Transport, letter: Letter): Promise<void> {
    const { logger } = this.#options;
    const { signal } = this.#over;
    const to = maskedEmail(letter.to);
    for (let tries = 1; ; tries += 1) {
      try {
        signal.throwIfAborted();
        await transport.send(letter, signal);
        logger.info({ to, subject: letter.subject }, 'mail sent');
        return;
      } catch (error) {
        const reason = signal.aborted ? 'the server stops' : reasonOf(error);
        const isLast = tries === triesMax || this.#stopped.signal.aborted || isRefused(error);
        logger.warn({ to, tries, reason }, isLast ? 'mail given up' : 'mail not sent, trying again');
        if (isLast) return;
        await this.#pause(retryMs * tries);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#stopped;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 500) : typeof error;
}

/** A mail server that says no for good (5xx) says it again; the letters behind need not wait for that. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;
}

export function mailOff(): AppError {
  return new AppError(
    'unavailable',
    'This server sends no mail: its operator has to set QUARRY_MAIL_URL, or to hand out sign-in links with "quarry login-link".',
    { shouldRetry: false },
  );
}

function transportOf(url: string, options: MailOptions): Transport {
  const { protocol } = new URL(url);
  switch (protocol) {
    case 'console:':
      return consoleTransport(options);
    case 'file:':
      return folderTransport(fileURLToPath(url), options);
    default:
      return smtpTransport(url, options.from);
  }
}

/** As nodemailer wants it: addresses as objects, so that nothing in them is read as a header or a second address. */
function messageOf({ to, subject, text }: Letter, from: string) {
  return {
    from: { name: 'Quarry', address: from },
    to: { name: '', address: to },
    subject: subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ' '),
    text,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function smtpTransport(url: string, from: string): Transport {
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      connectionTimeout: limits.mailMsMax,
      greetingTimeout: limits.mailMsMax,
      socketTimeout: limits.mailMsMax,
    });
  };
  let mailer: ReturnType<typeof open> | null = null;
  return {
    send: async (letter, signal) => {
      mailer ??= open();
      await (await mailer).sendMail({ ...messageOf(letter, from), signal });
    },
    close: async () => (await mailer)?.close(),
  };
}

/** One `.eml` file a letter, named so that they sort by time. */
function folderTransport(folder: string, { from, clock, chance }: MailOptions): Transport {
  return {
    send: async (letter) => {
      const { createTransport } = await import('nodemailer');
      const mailer = createTransport({ streamTransport: true, buffer: true });
      const { message } = await mailer.sendMail(messageOf(letter, from));
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const name = `${clock.now()}-${chance.uuid()}.eml`;
      await writeFile(join(folder, name), message as Buffer, { mode: 0o600, flag: 'wx' });
    },
    close: async () => {},
  };
}

function consoleTransport({ print }: MailOptions): Transport {
  return {
    send: async ({ to, subject, text }) => print(`Mail to ${to}: ${subject}\n${text}\n`),
    close: async () => {},
  };
}
