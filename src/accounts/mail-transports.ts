import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { type Egress, usualSmtpPort } from '../egress/egress.ts';

/** A letter to one person. The subject is one line; the text may have several. */
export interface Letter {
  /** Normalised. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Hands letters over; rejects when one could not be, at the latest when `signal` aborts. */
export interface MailTransport {
  send(letter: Letter, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface MailTransportOptions {
  /** Sender, as a plain address. */
  readonly from: string;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Where `console:` prints. */
  readonly print: (text: string) => void;
  readonly egress: Pick<Egress, 'openSocket' | 'allows'>;
}

/** `url`: `smtp://user:password@host:port`, `smtps://...`, `file:///a/folder`, or `console:`. */
export function transportOf(url: string, options: MailTransportOptions): MailTransport {
  const { protocol } = new URL(url);
  switch (protocol) {
    case 'console:':
      return consoleTransport(options);
    case 'file:':
      return folderTransport(fileURLToPath(url), options);
    default:
      return smtpTransport(url, options);
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

/** Whether the settings let the server connect to what sends its mail. */
export function mayConnect(url: string, { egress }: MailTransportOptions): boolean {
  if (!/^smtps?:/.test(url)) return true;
  const { host, port } = smtpPlace(url);
  return egress.allows(host, port);
}

function smtpPlace(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname, port: port === '' ? usualSmtpPort(protocol) : Number(port) };
}

function smtpTransport(url: string, { from, egress }: MailTransportOptions): MailTransport {
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      connectionTimeout: limits.mailMsMax,
      greetingTimeout: limits.mailMsMax,
      socketTimeout: limits.mailMsMax,
      getSocket: (_, done) => {
        const opened = egress.openSocket({ ...smtpPlace(url), msMax: limits.mailMsMax });
        opened.then(
          (connection) => done(null, { connection }),
          (error: Error) => done(error),
        );
      },
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
function folderTransport(folder: string, { from, clock, chance }: MailTransportOptions): MailTransport {
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

function consoleTransport({ print }: MailTransportOptions): MailTransport {
  return {
    send: async ({ to, subject, text }) => print(`Mail to ${to}: ${subject}\n${text}\n`),
    close: async () => {},
  };
}
