import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from './tap.ts';

/** How the next requests are answered. All values except `well` are faults. */
export type ChatBehavior =
  | 'well'
  | 'hang'
  | 'stall'
  | 'busy'
  | 'error'
  | 'rejected'
  | 'unauthorized'
  | 'closed'
  | 'cut'
  | 'unfinished'
  | 'malformed'
  | 'error-event'
  | 'no-stream'
  | 'huge'
  | 'long-text'
  | 'redirect';

/** A request to the service, with the parts of its prompt. */
export interface ChatServiceRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  readonly system: string;
  readonly user: string;
  /** Random code of the delimiters. */
  readonly code: string;
  /** Texts between the delimiters, in order. */
  readonly snippets: readonly string[];
  readonly question: string;
}

const statuses: Readonly<Partial<Record<ChatBehavior, number>>> = {
  busy: 429,
  error: 500,
  rejected: 400,
  unauthorized: 401,
  redirect: 302,
};

/**
 * Chat service with the API of OpenAI on this machine. It reads prompts by their delimiters only, as a model is told to,
 * and rejects a prompt of another form.
 */
export class FakeChatService {
  readonly requests: ChatServiceRequest[] = [];
  behavior: ChatBehavior = 'well';
  /** Writes the reply to a prompt. */
  write: (request: ChatServiceRequest) => string = () => 'The first snippet says it [1].';
  /** UTF-16 units of each piece of the stream. */
  pieceUnits = 3;
  finishReason = 'stop';
  /** Whether the service reports its tokens. */
  reportsUsage = true;
  runningRequests = 0;
  runningRequestsMax = 0;
  /** Number of requests whose client left before the end of the reply. */
  abortedRequests = 0;
  readonly #server: Server;
  #release: (() => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(t: Pick<Test, 'teardown'>): Promise<FakeChatService> {
    const server = createServer();
    const service = new FakeChatService(server);
    server.on('request', (request, reply) => {
      service.#serve(request, reply).catch((error: unknown) => {
        reply.writeHead(422).end(String(error));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => service.stop());
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The settings of a server that uses the service. */
  get variables() {
    return { CHAT_URL: this.url, CHAT_MODEL: 'parrot', CHAT_KEY: 'sk-secret-of-the-chat-service' };
  }

  get lastRequest(): ChatServiceRequest {
    const request = this.requests.at(-1);
    if (request === undefined) throw new Error('the chat service got no request');
    return request;
  }

  /** Lets all replies of the behavior `stall` continue. */
  release(): void {
    for (const resume of this.#release.splice(0)) resume();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    this.runningRequests += 1;
    this.runningRequestsMax = Math.max(this.runningRequestsMax, this.runningRequests);
    reply.on('close', () => {
      this.runningRequests -= 1;
      if (!reply.writableFinished) this.abortedRequests += 1;
    });
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = JSON.parse(Buffer.concat(parts).toString('utf8'));
    const read = { path: request.url ?? '', authorization: request.headers.authorization, body };
    const received = { ...read, ...readPrompt(body.messages) };
    this.requests.push(received);
    await this.#reply(reply, received);
  }

  async #reply(reply: ServerResponse, request: ChatServiceRequest): Promise<void> {
    const { behavior } = this;
    const status = statuses[behavior];
    if (status !== undefined) {
      const location = behavior === 'redirect' ? { location: 'http://127.0.0.1:9/' } : {};
      const message = `no: ${request.user} sk-secret-of-the-chat-service`;
      reply
        .writeHead(status, { 'retry-after': '1', ...location })
        .end(JSON.stringify({ error: { message } }));
      return;
    }
    if (behavior === 'hang') return;
    if (behavior === 'closed') return void reply.destroy();
    if (behavior === 'no-stream') {
      reply.writeHead(200, { 'content-type': 'application/json' });
      return void reply.end(JSON.stringify({ choices: [{ message: { content: 'All at once [1].' } }] }));
    }
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    if (behavior === 'huge') return writeMuch(reply, `: ${'x'.repeat(65_000)}\n\n`);
    if (behavior === 'long-text') return writeMuch(reply, toEvent(delta('word '.repeat(1_000))));
    const text = this.write(request);
    const units = behavior === 'well' || behavior === 'unfinished' ? text.length : Math.ceil(text.length / 2);
    for (let at = 0; at < units; at += this.pieceUnits)
      reply.write(toEvent(delta(text.slice(at, Math.min(units, at + this.pieceUnits)))));
    await this.#end(reply, request, text.slice(units));
  }

  async #end(reply: ServerResponse, request: ChatServiceRequest, rest: string): Promise<void> {
    const { behavior } = this;
    if (behavior === 'unfinished') return void reply.end();
    if (behavior === 'cut') return void reply.write(toEvent(delta('')), () => reply.destroy());
    if (behavior === 'malformed') return void reply.end('data: {"choices": [{"delta"\n\n');
    if (behavior === 'error-event')
      return void reply.end(toEvent({ error: { message: `no: ${request.question}` } }));
    if (behavior === 'stall') {
      await new Promise<void>((resolve) => this.#release.push(resolve));
      reply.write(toEvent(delta(rest)));
    }
    reply.write(toEvent({ choices: [{ delta: {}, finish_reason: this.finishReason }] }));
    const usage = { prompt_tokens: request.user.length, completion_tokens: 7 };
    if (this.reportsUsage) reply.write(toEvent({ choices: [], usage }));
    reply.end('data: [DONE]\n\n');
  }
}

function delta(content: string): object {
  return { choices: [{ index: 0, delta: { content }, finish_reason: null }] };
}

function toEvent(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Writes 64 MB, or until the client leaves. */
async function writeMuch(reply: ServerResponse, piece: string): Promise<void> {
  const closed = once(reply, 'close');
  for (let bytes = 0; bytes < 64_000_000 && !reply.destroyed; bytes += piece.length) {
    if (!reply.write(piece))
      await Promise.race([new Promise((resolve) => reply.once('drain', resolve)), closed]);
  }
  reply.end();
}

/** Reads a prompt by the code of its delimiters. Throws for another form. */
function readPrompt(messages: readonly { readonly role: string; readonly content: string }[]) {
  const [{ role, content: system } = { role: '', content: '' }, user, ...others] = messages;
  if (role !== 'system' || user?.role !== 'user' || others.length > 0)
    throw new Error('the prompt needs one message of the system and one of the user');
  const [, code = ''] = /<<end ([0-9a-f]{24})>>/.exec(system) ?? [];
  if (code === '') throw new Error('the system message names no code');
  const pattern = new RegExp(
    `<<(snippet (\\d+)|question) ${code}>>\\n([\\s\\S]*?)\\n<<end ${code}>>(?:\\n\\n|$)`,
    'y',
  );
  const snippets: string[] = [];
  for (pattern.lastIndex = 0; ; ) {
    const [, block, number, text = ''] = pattern.exec(user.content) ?? [];
    if (block === undefined) throw new Error('the prompt has text outside of its delimiters');
    if (block === 'question') {
      if (pattern.lastIndex !== user.content.length) throw new Error('the question is not at the end');
      return { system, user: user.content, code, snippets, question: text };
    }
    if (Number(number) !== snippets.length + 1) throw new Error(`snippet ${number} is out of order`);
    snippets.push(text);
  }
}
