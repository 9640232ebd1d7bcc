import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

/** How the next requests are answered. Everything but `well` is trouble. */
export type Manner =
  | 'well'
  | 'slow'
  | 'hang'
  | 'busy'
  | 'error'
  | 'unauthorised'
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

export interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
  readonly texts: readonly string[];
}

export const serviceDimensions = 16;
/** A text that a service in the manner `refuse-long` does not take. */
export const longText = 400;

/** Counts letters, so that texts with the same letters lie near each other. */
export function vectorOf(text: string): number[] {
  const vector = Array.from({ length: serviceDimensions }, () => 0.01);
  for (const letter of text.toLowerCase()) {
    const code = letter.charCodeAt(0) - 97;
    if (code >= 0 && code < 26) vector[code % serviceDimensions]! += 1;
  }
  return vector;
}

function scoreOf(query: string, text: string): number {
  const words = new Set(text.toLowerCase().split(/\W+/));
  const asked = query.toLowerCase().split(/\W+/);
  return asked.filter((word) => words.has(word)).length / (asked.length + 1);
}

/** An embedding and reranking service on this machine that misbehaves as it is told. */
export class ModelService {
  readonly asked: Asked[] = [];
  manner: Manner = 'well';
  /** So many of the next requests are answered in that manner, later ones well. */
  times = Number.POSITIVE_INFINITY;
  retryAfter = '1';
  encoding: 'float' | 'base64' = 'float';
  /** Its errors quote what it was asked. */
  quotes = false;
  dimensions = serviceDimensions;
  /** Requests that are under way, now and at most. */
  running = 0;
  runningMost = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(t: Pick<Test, 'teardown'>, port = 0): Promise<ModelService> {
    const server = createServer();
    const service = new ModelService(server);
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

  behave(manner: Manner, times = Number.POSITIVE_INFINITY): void {
    this.manner = manner;
    this.times = times;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    this.running += 1;
    this.runningMost = Math.max(this.runningMost, this.running);
    reply.on('close', () => {
      this.running -= 1;
    });
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>;
    const texts = (body.input ?? body.documents ?? body.texts) as string[];
    const path = request.url ?? '';
    this.asked.push({ path, authorization: request.headers.authorization, body, texts });
    const manner = this.times > 0 ? this.manner : 'well';
    this.times -= 1;
    await this.#answer(reply, manner, path, body, texts);
  }

  async #answer(
    reply: ServerResponse,
    manner: Manner,
    path: string,
    body: Record<string, unknown>,
    texts: readonly string[],
  ): Promise<void> {
    const status = this.#statusOf(manner, texts);
    if (status !== 200) {
      const headers = {
        'content-type': 'application/json',
        ...(status === 429 ? { 'retry-after': this.retryAfter } : {}),
        ...(status === 302 ? { location: 'http://127.0.0.1:9/elsewhere' } : {}),
      };
      const quoted = this.quotes ? `, not: ${texts.join(' ')}` : '';
      reply
        .writeHead(status, headers)
        .end(JSON.stringify({ error: { message: `not now, sk-secret-of-the-service${quoted}` } }));
      return;
    }
    if (manner === 'hang') return;
    if (manner === 'closed') return void reply.destroy();
    if (manner === 'slow') await sleep(150);
    const json = path.endsWith('/embeddings')
      ? this.#embeddings(manner, texts)
      : this.#scores(manner, path, String(body.query), texts);
    reply.writeHead(200, { 'content-type': 'application/json' });
    if (manner === 'truncated') reply.end(json.slice(0, json.length / 2));
    else if (manner === 'not-json') reply.end('<html>It works!</html>');
    else if (manner === 'huge') {
      const block = Buffer.alloc(1_000_000, 32);
      for (let i = 0; i < 200 && !reply.destroyed; i += 1) {
        if (!reply.write(block))
          await new Promise((resolve) => reply.once('drain', resolve).once('close', resolve));
      }
      reply.end();
    } else reply.end(json);
  }

  #statusOf(manner: Manner, texts: readonly string[]): number {
    if (manner === 'busy') return 429;
    if (manner === 'error') return 500;
    if (manner === 'unauthorised') return 401;
    if (manner === 'redirect') return 302;
    if (manner === 'refuse-long' && texts.some((text) => text.length > longText)) return 413;
    return 200;
  }

  #embeddings(manner: Manner, texts: readonly string[]): string {
    if (manner === 'no-list') return '{"data":{}}';
    const width = manner === 'short-vectors' ? this.dimensions - 1 : this.dimensions;
    const data = texts.map((text, index) => {
      const vector = vectorOf(text).slice(0, width);
      while (vector.length < width) vector.push(0);
      if (manner === 'zero') vector.fill(0);
      const floats = Float32Array.from(manner === 'nan' ? vector.map(() => Number.NaN) : vector);
      const embedding =
        this.encoding === 'base64' || manner === 'nan'
          ? Buffer.from(floats.buffer).toString('base64')
          : vector;
      return { object: 'embedding', index: manner === 'same-index' ? 0 : index, embedding };
    });
    if (manner === 'too-few') data.pop();
    if (manner === 'reversed') data.reverse();
    return JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 3 * texts.length } });
  }

  #scores(manner: Manner, path: string, query: string, texts: readonly string[]): string {
    if (manner === 'no-list') return '{"results":null}';
    const results = texts.map((text, index) => {
      const score = manner === 'nan' ? null : manner === 'zero' ? 7.5 : scoreOf(query, text);
      return { index: manner === 'same-index' ? 0 : index, relevance_score: score, score };
    });
    results.sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
    if (manner === 'too-few') results.pop();
    return JSON.stringify(path.includes('tei') ? results : { results });
  }
}
