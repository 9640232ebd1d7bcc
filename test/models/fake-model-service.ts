import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from '../support/tap.ts';

/** Behavior for the next requests. All values except `well` are faults. */
export type ServiceBehavior =
  | 'well'
  | 'slow'
  | 'hang'
  | 'busy'
  | 'error'
  | 'unauthorized'
  | 'refuse-long'
  | 'too-few'
  | 'reversed'
  | 'same-index'
  | 'short-vectors'
  | 'nan'
  | 'zero'
  | 'truncated'
  | 'not-json'
  | 'closed'
  | 'huge'
  | 'redirect'
  | 'no-list';

export interface ServiceRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
  readonly texts: readonly string[];
}

export const serviceDimensions = 16;
/** Length above which a service with the behavior `refuse-long` rejects a text. */
export const longTextUnits = 400;

/** Counts letters, so that texts with the same letters have similar vectors. */
export function letterVectorOf(text: string): number[] {
  const vector = Array.from({ length: serviceDimensions }, () => 0.01);
  for (const letter of text.toLowerCase()) {
    const code = letter.charCodeAt(0) - 97;
    if (code >= 0 && code < 26) vector[code % serviceDimensions]! += 1;
  }
  return vector;
}

function scoreOf(query: string, text: string): number {
  const words = new Set(text.toLowerCase().split(/\W+/));
  const queryWords = query.toLowerCase().split(/\W+/);
  return queryWords.filter((word) => words.has(word)).length / (queryWords.length + 1);
}

/** Embedding and reranking service on this machine with configurable faults. */
export class FakeModelService {
  readonly requests: ServiceRequest[] = [];
  behavior: ServiceBehavior = 'well';
  /** Number of requests to which `behavior` applies; later ones succeed. */
  behaviorCount = Number.POSITIVE_INFINITY;
  retryAfter = '1';
  encoding: 'float' | 'base64' = 'float';
  /** Whether error messages quote the request. */
  quotesRequestInErrors = false;
  dimensions = serviceDimensions;
  /** The vector of a text, and the score instead of a share of common words. */
  embed: (text: string) => number[] = letterVectorOf;
  score: (score: number) => number = (score) => score;
  /** Number of requests in flight: current and maximum. */
  runningRequests = 0;
  runningRequestsMax = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(t: Pick<Test, 'teardown'>, port = 0): Promise<FakeModelService> {
    const server = createServer();
    const service = new FakeModelService(server);
    server.on('request', (request, reply) => {
      service.#serve(request, reply).catch(() => reply.destroy());
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    t.teardown(() => service.stop());
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  setBehavior(behavior: ServiceBehavior, times = Number.POSITIVE_INFINITY): void {
    this.behavior = behavior;
    this.behaviorCount = times;
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
    });
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>;
    const texts = (body.input ?? body.documents ?? body.texts) as string[];
    const path = request.url ?? '';
    this.requests.push({ path, authorization: request.headers.authorization, body, texts });
    const behavior = this.behaviorCount > 0 ? this.behavior : 'well';
    this.behaviorCount -= 1;
    await this.#sendReply(reply, behavior, path, body, texts);
  }

  async #sendReply(
    reply: ServerResponse,
    behavior: ServiceBehavior,
    path: string,
    body: Record<string, unknown>,
    texts: readonly string[],
  ): Promise<void> {
    const status = this.#statusOf(behavior, texts);
    if (status !== 200) {
      const headers = {
        'content-type': 'application/json',
        ...(status === 429 ? { 'retry-after': this.retryAfter } : {}),
        ...(status === 302 ? { location: 'http://127.0.0.1:9/elsewhere' } : {}),
      };
      const quoted = this.quotesRequestInErrors ? `, not: ${texts.join(' ')}` : '';
      reply
        .writeHead(status, headers)
        .end(JSON.stringify({ error: { message: `not now, sk-secret-of-the-service${quoted}` } }));
      return;
    }
    if (behavior === 'hang') return;
    if (behavior === 'closed') return void reply.destroy();
    if (behavior === 'slow') await sleep(150);
    const json = path.endsWith('/embeddings')
      ? this.#embeddingsBody(behavior, texts)
      : this.#scoresBody(behavior, path, String(body.query), texts);
    reply.writeHead(200, { 'content-type': 'application/json' });
    if (behavior === 'truncated') reply.end(json.slice(0, json.length / 2));
    else if (behavior === 'not-json') reply.end('<html>It works!</html>');
    else if (behavior === 'huge') Readable.from(Array(200).fill(Buffer.alloc(1_000_000, 32))).pipe(reply);
    else reply.end(json);
  }

  #statusOf(behavior: ServiceBehavior, texts: readonly string[]): number {
    if (behavior === 'busy') return 429;
    if (behavior === 'error') return 500;
    if (behavior === 'unauthorized') return 401;
    if (behavior === 'redirect') return 302;
    if (behavior === 'refuse-long' && texts.some((text) => text.length > longTextUnits)) return 413;
    return 200;
  }

  #embeddingsBody(behavior: ServiceBehavior, texts: readonly string[]): string {
    if (behavior === 'no-list') return '{"data":{}}';
    const width = behavior === 'short-vectors' ? this.dimensions - 1 : this.dimensions;
    const data = texts.map((text, index) => {
      const vector = this.embed(text).slice(0, width);
      while (vector.length < width) vector.push(0);
      if (behavior === 'zero') vector.fill(0);
      const floats = Float32Array.from(behavior === 'nan' ? vector.map(() => Number.NaN) : vector);
      const embedding =
        this.encoding === 'base64' || behavior === 'nan'
          ? Buffer.from(floats.buffer).toString('base64')
          : vector;
      return { object: 'embedding', index: behavior === 'same-index' ? 0 : index, embedding };
    });
    if (behavior === 'too-few') data.pop();
    if (behavior === 'reversed') data.reverse();
    return JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 3 * texts.length } });
  }

  #scoresBody(behavior: ServiceBehavior, path: string, query: string, texts: readonly string[]): string {
    if (behavior === 'no-list') return '{"results":null}';
    const results = texts.map((text, index) => {
      const score = behavior === 'nan' ? null : behavior === 'zero' ? 7.5 : this.score(scoreOf(query, text));
      return { index: behavior === 'same-index' ? 0 : index, relevance_score: score, score };
    });
    results.sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
    if (behavior === 'too-few') results.pop();
    return JSON.stringify(path.includes('tei') ? results : { results });
  }
}
