import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Agent, type IncomingMessage, request as startRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SMTPServer } from 'smtp-server';
import { sendOnOpenConnection } from '../support/stale-connections.ts';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import type { TestServer } from './server.ts';

/** Administrator of the tests: a password and its hash, with a lower cost factor than in production. */
export const administrator = {
  password: 'correct horse battery staple',
  hash: '$argon2id$v=19$m=8192,t=1,p=1$q/pD/lNPGwtLE2lP5BfMzA$Yk21kYX3He4kTGKSIPulSi/8yGKPeMM5AqxePBDlUY4',
} as const;

/** Reply with its body parsed if it is JSON. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: any reply body
  readonly body: any;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true });

/** Sends one request. `fetch` takes three times the CPU time, and many tests send hundreds of requests. */
export function sendRequest(
  address: string,
  {
    headers = {},
    body,
    method = 'POST',
  }: { headers?: Record<string, string>; body?: unknown; method?: string } = {},
): Promise<HttpReply> {
  const isJsonBody = typeof body !== 'string' && body !== undefined;
  const contentType = isJsonBody ? { 'content-type': 'application/json' } : {};
  const sentHeaders = { 'user-agent': 'node', ...contentType, ...headers };
  const send = () =>
    new Promise<HttpReply>((resolve, reject) => {
      const request = startRequest(address, { method, agent, headers: sentHeaders }, (reply) => {
        const parts: Buffer[] = [];
        reply.on('data', (part: Buffer) => parts.push(part));
        reply.on('error', reject);
        reply.on('end', () => resolve(toHttpReply(reply, Buffer.concat(parts).toString())));
      });
      request.on('error', reject);
      request.end(isJsonBody ? JSON.stringify(body) : body);
    });
  return sendOnOpenConnection(send);
}

function toHttpReply(reply: IncomingMessage, text: string): HttpReply {
  const headers = new Headers();
  for (let at = 0; at < reply.rawHeaders.length; at += 2)
    headers.append(reply.rawHeaders[at]!, reply.rawHeaders[at + 1]!);
  const isJson = headers.get('content-type')?.includes('json') === true;
  return { status: reply.statusCode!, headers, body: isJson && text !== '' ? JSON.parse(text) : null, text };
}

/** User with a mailbox. */
export class TestUser {
  readonly email: string;
  readonly #server: Pick<TestServer, 'url'>;
  readonly #readMails: () => string[];
  /** Sent with every request; behind a trusted proxy, `x-forwarded-for` simulates separate hosts. */
  headers: Record<string, string> = {};
  token = '';

  constructor(email: string, server: Pick<TestServer, 'url'>, mails: () => string[]) {
    this.email = email;
    this.#server = server;
    this.#readMails = mails;
  }

  /** Requests a link, reads the mail, and follows the link as an API client. */
  async signIn(): Promise<HttpReply> {
    const { headers } = this;
    const linkRequest = { headers, body: { email: this.email } };
    const sent = await sendRequest(`${this.#server.url}/api/auth/magic-link/send`, linkRequest);
    if (sent.status !== 200) return sent;
    const acceptJson = { method: 'GET', headers: { ...headers, accept: 'application/json' } };
    const answer = await sendRequest(await this.link(), acceptJson);
    this.token = answer.body.access_token;
    return answer;
  }

  async link(): Promise<string> {
    const mail = await this.findMail('/api/auth/magic-link/verify');
    return /https?:\S+verify\?token=\S+/.exec(mail)?.[0] ?? 'no link';
  }

  /** Latest mail to this user that contains these words. */
  async findMail(words: string): Promise<string> {
    const ownMails = () =>
      this.#readMails().filter((mail) => mail.includes(`To: ${this.email}`) && mail.includes(words));
    await waitUntil(`a mail to ${this.email} with ${words}`, () => ownMails().length > 0);
    return ownMails().at(-1)!;
  }

  /** Link of the latest invitation to this user. */
  async findInvitationLink(): Promise<string> {
    const mail = await this.findMail('/app/join#');
    return /https?:\S+\/app\/join#\S+/.exec(mail)?.[0] ?? 'no link';
  }

  /** Code of the latest invitation to this user. */
  async findInviteCode(): Promise<string> {
    return new URL(await this.findInvitationLink()).hash.slice(1);
  }

  call(operation: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<HttpReply> {
    const authorization = `Bearer ${this.token}`;
    return sendRequest(`${this.#server.url}/api/${operation}`, {
      body,
      headers: { authorization, ...this.headers, ...headers },
    });
  }
}

/**
 * Starts a real SMTP server on this machine and returns the messages it receives, decoded. It rejects unknown
 * recipients.
 */
export async function startMailServer(
  t: Test,
  acceptsRecipient: (address: string) => boolean = () => true,
  { delays = () => undefined }: { delays?: (address: string) => Promise<void> | undefined } = {},
): Promise<{ url: string; mails: () => string[] }> {
  const mails: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) => {
      const answer = () =>
        done(
          acceptsRecipient(address)
            ? null
            : Object.assign(new Error('no such mailbox'), { responseCode: 550 }),
        );
      void Promise.resolve(delays(address)).then(answer);
    },
    closeTimeout: 1_000,
    onData: (stream, _session, done) => {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        mails.push(decodeQuotedPrintable(Buffer.concat(parts).toString()));
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as { port: number };
  return { url: `smtp://127.0.0.1:${port}`, mails: () => mails };
}

/** Folder to which the server writes messages, and their contents. */
export function createMailFolder(t: Pick<Test, 'teardown'>): { url: string; mails: () => string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-outbox-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  /** Decoded messages by file name. A file is read again if its size changed: the server may still have written it. */
  const known = new Map<string, { readonly size: number; readonly mail: string }>();
  const readMail = (name: string): string => {
    const path = join(folder, name);
    const { size } = statSync(path);
    const earlier = known.get(name);
    if (earlier?.size === size) return earlier.mail;
    const mail = decodeQuotedPrintable(readFileSync(path, 'utf8'));
    known.set(name, { size, mail });
    return mail;
  };
  return {
    url: pathToFileURL(folder).href,
    mails: () => readdirSync(folder).sort().map(readMail),
  };
}

/** Decodes quoted-printable, including soft line breaks. */
function decodeQuotedPrintable(mail: string): string {
  return mail
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
