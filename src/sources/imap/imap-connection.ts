import type { FetchMessageObject, ImapFlow, ListResponse } from 'imapflow';
import { AppError } from '../../core/app-error.ts';
import { Mutex } from '../../core/async/mutex.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import type { PinnedConnections } from '../../egress/pinned-connections.ts';

/** Ports of IMAP with and without TLS. */
export const imapPorts = [993, 143];

export interface ImapConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly hasTls: boolean;
  readonly credentials: { readonly username: string; readonly password: string };
  readonly connections: Pick<PinnedConnections, 'openSocket'>;
}

/** A mailbox that is opened for reading. */
interface OpenMailbox {
  readonly client: ImapFlow;
  /** Changes when the server assigns new numbers to the messages. */
  readonly validity: string;
}

/** A connection to an account, which is opened again after it was lost. It runs one command after another. */
export class ImapConnection {
  readonly #options: ImapConnectionOptions;
  readonly #mutex = new Mutex();
  #client: ImapFlow | null = null;
  #isClosed = false;

  constructor(options: ImapConnectionOptions) {
    this.#options = options;
  }

  /** False after the connection was lost, until the next command opens it again. */
  get isOpen(): boolean {
    return this.#client?.usable === true;
  }

  listMailboxes(signal: AbortSignal): Promise<ListResponse[]> {
    return this.#run(signal, (client) => client.list());
  }

  /** Returns the numbers (UIDs) of all messages that are not marked as deleted. Errors: AppError. */
  listMessages(
    mailbox: string,
    signal: AbortSignal,
  ): Promise<{ readonly uids: readonly number[]; readonly validity: string }> {
    return this.#runIn(mailbox, signal, async ({ client, validity }) => {
      const uids = await client.search({ deleted: false }, { uid: true });
      if (!Array.isArray(uids))
        throw new AppError('bad_gateway', `The mailbox ${mailbox} cannot be searched.`);
      return { uids, validity };
    });
  }

  /** Returns a message with its content; null if it does not exist. Errors: AppError. */
  readMessage(
    { mailbox, uid, validity }: { readonly mailbox: string; readonly uid: number; readonly validity: string },
    signal: AbortSignal,
  ): Promise<FetchMessageObject | null> {
    return this.#runIn(mailbox, signal, async (opened) => {
      if (opened.validity !== validity) return null;
      const { imapMessageBytesMax: bytesMax } = sourceLimits;
      const request = (more: { readonly size?: true; readonly source?: true }) =>
        opened.client.fetchOne(String(uid), { ...more, envelope: true, internalDate: true }, { uid: true });
      const head = await request({ size: true });
      if (head === false) return null;
      if ((head.size ?? 0) > bytesMax)
        throw new AppError('too_large', `The message has more than ${bytesMax} bytes.`);
      const message = await request({ source: true });
      return message === false || message.source === undefined ? null : message;
    });
  }

  /** Whether a message exists and is not marked as deleted. Errors: AppError. */
  hasMessage(mailbox: string, uid: number, signal: AbortSignal): Promise<boolean> {
    return this.#runIn(mailbox, signal, async ({ client }) => {
      const found = await client.search({ uid: String(uid), deleted: false }, { uid: true });
      if (!Array.isArray(found))
        throw new AppError('bad_gateway', `The mailbox ${mailbox} cannot be searched.`);
      return found.includes(uid);
    });
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#client?.close();
  }

  /** Opens a mailbox without changes to it, not even to the flags of its messages. */
  #runIn<Result>(
    mailbox: string,
    signal: AbortSignal,
    work: (opened: OpenMailbox) => Promise<Result>,
  ): Promise<Result> {
    return this.#run(signal, async (client) => {
      const lock = await client.getMailboxLock(mailbox, { readOnly: true });
      try {
        if (client.mailbox === false)
          throw new AppError('bad_gateway', `The mailbox ${mailbox} cannot be opened.`);
        return await work({ client, validity: String(client.mailbox.uidValidity) });
      } finally {
        lock.release();
      }
    });
  }

  /** Errors: `bad_gateway`; the reason of the signal. */
  #run<Result>(signal: AbortSignal, work: (client: ImapFlow) => Promise<Result>): Promise<Result> {
    return this.#mutex.run(async () => {
      let stop = () => {};
      const stopped = new Promise<never>((_resolve, reject) => {
        stop = () => {
          this.#client?.close();
          reject(signal.reason);
        };
      });
      signal.addEventListener('abort', stop, { once: true });
      try {
        signal.throwIfAborted();
        return await Promise.race([this.#runNow(work), stopped]);
      } catch (cause) {
        signal.throwIfAborted();
        if (cause instanceof AppError) throw cause;
        throw new AppError('bad_gateway', this.#describe(cause as ImapError), { cause });
      } finally {
        signal.removeEventListener('abort', stop);
      }
    });
  }

  async #runNow<Result>(work: (client: ImapFlow) => Promise<Result>): Promise<Result> {
    if (this.#client?.usable !== true) await this.#connect();
    return await work(this.#client!);
  }

  async #connect(): Promise<void> {
    const { host, port, hasTls, credentials, connections } = this.#options;
    const { imapMessageBytesMax, imapReplyBytesMax, imapMsMax } = sourceLimits;
    const [{ ImapFlow }, socket] = await Promise.all([
      import('imapflow'),
      connections.openSocket({ host, port, defaultPorts: imapPorts, isSecure: hasTls }),
    ]);
    if (this.#isClosed) {
      socket.destroy();
      throw new Error('the source is closed');
    }
    const client = new ImapFlow({
      host,
      port,
      secure: hasTls,
      doSTARTTLS: false,
      auth: { user: credentials.username, pass: credentials.password },
      logger: false,
      disableAutoIdle: true,
      transport: {
        connect(_options, onConnect) {
          setImmediate(onConnect);
          return socket;
        },
      },
      socketTimeout: imapMsMax,
      greetingTimeout: imapMsMax,
      maxLineLength: imapReplyBytesMax,
      // The server counts the bytes of a message in its own way.
      maxLiteralSize: 2 * imapMessageBytesMax,
      maxResponseSize: 2 * imapMessageBytesMax + imapReplyBytesMax,
      maxResponseTokens: sourceLimits.itemsMax,
    });
    // The command that fails rejects with the error.
    client.on('error', () => {});
    this.#client = client;
    await client.connect().catch((error: unknown) => {
      client.close();
      throw error;
    });
  }

  #describe({ authenticationFailed, responseText, message }: ImapError): string {
    const { host, port } = this.#options;
    if (authenticationFailed === true)
      return `${host} rejects the user name or the password. Check the credentials.`;
    return `The request to ${host}:${port} failed: ${(responseText ?? message).replace(/\.$/, '')}.`;
  }
}

interface ImapError extends Error {
  readonly authenticationFailed?: boolean;
  readonly responseText?: string;
}
