import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import type { TestOrigin } from './source-fixture.ts';

interface ImapMessage {
  readonly id: string;
  readonly text: string;
  readonly isDeleted: boolean;
}

export interface ImapMailbox {
  /** Attributes of LIST, such as `\Trash`. */
  readonly attributes: string;
  validity: number;
  nextUid: number;
  readonly messages: Map<number, ImapMessage>;
}

/**
 * A mail account in memory, by IMAP4rev1 (RFC 3501) and SPECIAL-USE (RFC 6154). Mailboxes are opened for reading only.
 * The keys of its messages are their IDs; an edit replaces a message, because messages never change.
 */
export class ImapOrigin implements TestOrigin {
  readonly username = 'ada';
  password = 's"écret';
  readonly mailboxes = new Map<string, ImapMailbox>();
  /** Commands so far, without tags. */
  readonly commands: string[] = [];
  /** Mailbox that cannot be opened; null: none. */
  brokenMailbox: string | null = null;
  /** Whether connections end at the first search. */
  isUnstable = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket)).on('error', () => {});
      new ImapSession(this, socket).start();
    });
    this.addMailbox('INBOX');
  }

  static async start(): Promise<ImapOrigin> {
    const origin = new ImapOrigin();
    await new Promise<void>((resolve) => origin.#server.listen(0, '127.0.0.1', resolve));
    return origin;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  close(): void {
    this.#server.close();
    this.disconnect();
  }

  /** Ends all connections. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  addMailbox(name: string, attributes = ''): ImapMailbox {
    const mailbox = { attributes, validity: 1_700_000_000, nextUid: 1, messages: new Map() };
    this.mailboxes.set(name, mailbox);
    return mailbox;
  }

  /** Content of the message with this ID and text. */
  static render(id: string, content: string): string {
    return `From: Ada <ada@example.com>\r\nTo: Grace <grace@example.com>\r\nSubject: ${id}\r\nMessage-ID: ${id}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${content}\r\n`;
  }

  append(id: string, content: string, { mailbox = 'INBOX', isDeleted = false } = {}): number {
    const found = this.mailboxes.get(mailbox)!;
    const uid = found.nextUid;
    found.nextUid += 1;
    found.messages.set(uid, { id, text: ImapOrigin.render(id, content), isDeleted });
    return uid;
  }

  async write(key: string, content: string): Promise<void> {
    await this.delete(key);
    this.append(key, content);
  }

  async rename(from: string, to: string): Promise<void> {
    const [, content = ''] = this.#find(from)!.text.split('\r\n\r\n');
    await this.delete(from);
    this.append(to, content.trimEnd());
  }

  async delete(key: string): Promise<void> {
    const { messages } = this.mailboxes.get('INBOX')!;
    for (const [uid, { id }] of messages) if (id === key) messages.delete(uid);
  }

  #find(id: string): ImapMessage | undefined {
    return [...this.mailboxes.get('INBOX')!.messages.values()].find((message) => message.id === id);
  }
}

/** A connection of a client. */
class ImapSession {
  readonly #origin: ImapOrigin;
  readonly #socket: Socket;
  #input = Buffer.alloc(0);
  /** Command so far, while its literals are received. */
  #command = '';
  #isSignedIn = false;
  #mailbox: ImapMailbox | null = null;

  constructor(origin: ImapOrigin, socket: Socket) {
    this.#origin = origin;
    this.#socket = socket;
  }

  start(): void {
    this.#send('* OK ready');
    this.#socket.on('data', (part) => {
      this.#input = Buffer.concat([this.#input, part]);
      this.#readCommands();
    });
  }

  #send(text: string): void {
    this.#socket.write(`${text}\r\n`);
  }

  #readCommands(): void {
    for (;;) {
      const announced = /\{(\d+)\}\r\n$/.exec(this.#command);
      const end = announced === null ? this.#input.indexOf('\r\n') + 2 : Number(announced[1]);
      if (end === 1 || this.#input.length < end) return;
      const part = this.#input.subarray(0, end).toString();
      this.#input = this.#input.subarray(end);
      if (announced === null) {
        this.#command += part;
        if (/\{\d+\}\r\n$/.test(part)) this.#send('+ OK');
        else {
          const command = this.#command.trimEnd();
          this.#command = '';
          this.#execute(command);
        }
      } else
        this.#command = `${this.#command.replace(/\{\d+\}\r\n$/, '')}"${part.replace(/["\\]/g, '\\$&')}"`;
    }
  }

  #execute(line: string): void {
    const [, tag = '*', command = ''] = /^(\S+) (.*)$/s.exec(line) ?? [];
    this.#origin.commands.push(command);
    const [name = ''] = command.toUpperCase().split(' ');
    const result =
      name === 'UID'
        ? this.#executeByUid(command.slice(4))
        : this.#executeCommand(name, command.slice(name.length + 1));
    if (result !== null) this.#send(`${tag} ${result}`);
    if (name === 'LOGOUT') this.#socket.end();
  }

  /** Returns the result of the tagged reply. */
  #executeCommand(name: string, rest: string): string {
    switch (name) {
      case 'CAPABILITY':
        this.#send('* CAPABILITY IMAP4rev1 SPECIAL-USE');
        return 'OK done';
      case 'NOOP':
      case 'LSUB':
        return 'OK done';
      case 'LOGOUT':
        this.#send('* BYE');
        return 'OK done';
      case 'LOGIN': {
        const { username, password } = this.#origin;
        this.#isSignedIn = readStrings(rest).join('\n') === `${username}\n${password}`;
        return this.#isSignedIn ? 'OK done' : 'NO [AUTHENTICATIONFAILED] rejected';
      }
      case 'LIST':
        if (!this.#isSignedIn) return 'NO sign in first';
        this.#list(readStrings(rest)[1] ?? '');
        return 'OK done';
      case 'EXAMINE':
        return this.#isSignedIn ? this.#examine(readStrings(rest)[0] ?? '') : 'NO sign in first';
      default:
        return 'BAD unknown command';
    }
  }

  #list(pattern: string): void {
    if (pattern === '') this.#send('* LIST (\\Noselect) "/" ""');
    else
      for (const [name, { attributes }] of this.#origin.mailboxes)
        this.#send(`* LIST (${attributes}) "/" "${name}"`);
  }

  #examine(name: string): string {
    this.#mailbox = this.#origin.mailboxes.get(name) ?? null;
    if (this.#mailbox === null || name === this.#origin.brokenMailbox) return 'NO not available';
    const { messages, validity, nextUid } = this.#mailbox;
    this.#send('* FLAGS (\\Deleted \\Seen)');
    this.#send(`* ${messages.size} EXISTS`);
    this.#send('* 0 RECENT');
    this.#send(`* OK [UIDVALIDITY ${validity}] valid`);
    this.#send(`* OK [UIDNEXT ${nextUid}] next`);
    return 'OK [READ-ONLY] done';
  }

  #executeByUid(command: string): string | null {
    const mailbox = this.#mailbox;
    if (mailbox === null) return 'BAD no mailbox';
    const [, uid, query = ''] = /^FETCH (\d+) \((.*)\)$/i.exec(command) ?? [];
    if (uid !== undefined) {
      this.#fetch(mailbox, Number(uid), query.toUpperCase());
      return 'OK done';
    }
    const [, only, rest] = /^SEARCH(?: UID (\d+))? (UNDELETED|NOT DELETED)$/i.exec(command) ?? [];
    if (rest === undefined) return 'BAD unknown command';
    if (this.#origin.isUnstable) {
      this.#socket.destroy();
      return null;
    }
    const found = [...mailbox.messages].filter(
      ([number, { isDeleted }]) => !isDeleted && (only === undefined || number === Number(only)),
    );
    this.#send(`* SEARCH ${found.map(([number]) => number).join(' ')}`.trimEnd());
    return 'OK done';
  }

  #fetch({ messages }: ImapMailbox, uid: number, query: string): void {
    const message = messages.get(uid);
    if (message === undefined) return;
    const { text, id } = message;
    const bytes = Buffer.byteLength(text);
    const address = '(("Ada" NIL "ada" "example.com"))';
    const values: Readonly<Record<string, string>> = {
      UID: String(uid),
      'RFC822.SIZE': String(bytes),
      INTERNALDATE: '"24-Nov-2026 10:00:00 +0000"',
      ENVELOPE: `(NIL "${id}" ${address} ${address} ${address} NIL NIL NIL NIL "${id}")`,
      'BODY.PEEK[]': `{${bytes}}\r\n${text}`,
    };
    const items = query.split(' ').map((name) => `${name.replace('.PEEK', '')} ${values[name] ?? 'NIL'}`);
    this.#send(`* ${[...messages.keys()].indexOf(uid) + 1} FETCH (${items.join(' ')})`);
  }
}

/** Reads quoted strings and atoms. */
function readStrings(text: string): string[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/gs)].map(([, quoted, atom]) =>
    quoted === undefined ? (atom ?? '') : quoted.replace(/\\(.)/gs, '$1'),
  );
}
