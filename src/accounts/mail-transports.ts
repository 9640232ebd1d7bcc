import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { defaultSmtpPort, type Egress } from '../egress/egress.ts';

/** Message to one recipient. The subject is one line; the text may have several. */
export interface MailMessage {
  /** Normalized. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Delivers messages to a mail server. `send` rejects on failure, at the latest when `signal` aborts. */
export interface MailTransport {
  send(message: MailMessage, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface MailTransportOptions {
  /** Sender, as a plain address. */
  readonly from: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Output of the `console:` transport. */
  readonly print: (text: string) => void;
  readonly egress: Pick<Egress, 'openSocket' | 'allows'>;
}

/**
 * Creates a transport. `url`: `smtp://user:password@host:port`, `smtps://...`, `file:///a/folder`, or
 * `console:`.
 */
export function createMailTransport(url: string, options: MailTransportOptions): MailTransport {
  const { protocol } = new URL(url);
  switch (protocol) {
    case 'console:':
      return createConsoleTransport(options);
    case 'file:':
      return createFolderTransport(fileURLToPath(url), options);
    default:
      return createSmtpTransport(url, options);
  }
}

/**
 * Converts a message for nodemailer. Addresses are passed as objects, so that nothing in them is parsed as a
 * header or second address.
 */
function toNodemailerMessage({ to, subject, text }: MailMessage, from: string) {
  return {
    from: { name: 'Quarry', address: from },
    to: { name: '', address: to },
    subject: subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ' '),
    text,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Whether the egress settings allow connecting to the mail server. */
export function canConnect(url: string, { egress }: MailTransportOptions): boolean {
  if (!/^smtps?:/.test(url)) return true;
  const { host, port } = parseSmtpAddress(url);
  return egress.allows(host, port);
}

function parseSmtpAddress(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname, port: port === '' ? defaultSmtpPort(protocol) : Number(port) };
}

function createSmtpTransport(url: string, { from, egress }: MailTransportOptions): MailTransport {
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      connectionTimeout: limits.mailMsMax,
      greetingTimeout: limits.mailMsMax,
      socketTimeout: limits.mailMsMax,
      getSocket: (_, done) => {
        const socket = egress.openSocket({ ...parseSmtpAddress(url), msMax: limits.mailMsMax });
        socket.then(
          (connection) => done(null, { connection }),
          (error: Error) => done(error),
        );
      },
    });
  };
  let mailer: ReturnType<typeof open> | null = null;
  return {
    send: async (message, signal) => {
      mailer ??= open();
      await (await mailer).sendMail({ ...toNodemailerMessage(message, from), signal });
    },
    close: async () => (await mailer)?.close(),
  };
}

/** Writes one `.eml` file per message, with names that sort by time. */
function createFolderTransport(folder: string, { from, clock, random }: MailTransportOptions): MailTransport {
  return {
    send: async (message) => {
      const { createTransport } = await import('nodemailer');
      const mailer = createTransport({ streamTransport: true, buffer: true });
      const { message: rendered } = await mailer.sendMail(toNodemailerMessage(message, from));
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const name = `${clock.now()}-${random.uuid()}.eml`;
      await writeFile(join(folder, name), rendered as Buffer, { mode: 0o600, flag: 'wx' });
    },
    close: async () => {},
  };
}

function createConsoleTransport({ print }: MailTransportOptions): MailTransport {
  return {
    send: async ({ to, subject, text }) => print(`Mail to ${to}: ${subject}\n${text}\n`),
    close: async () => {},
  };
}
