import { setTimeout as sleep } from 'node:timers/promises';

const attemptsMax = 20;
const callMsMax = 60_000;

/** Public API operations for setting up a bench. Measured requests use the load generator instead. */
export class BenchApiClient {
  readonly #url: string;
  readonly #key: string;

  constructor(options: { readonly url: string; readonly key: string }) {
    this.#url = options.url;
    this.#key = options.key;
  }

  /**
   * Calls one operation, for example `status/get-status`. Retries while the server is busy (429, 503).
   * Errors: rejects with the server's message for any other error status.
   */
  async call<Reply>(operation: string, body: object): Promise<Reply> {
    for (let attempt = 1; ; attempt++) {
      const reply = await fetch(`${this.#url}/v1/${operation}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(callMsMax),
      });
      const text = await reply.text();
      if (reply.ok) return JSON.parse(text) as Reply;
      const isBusy = reply.status === 429 || reply.status === 503;
      if (!isBusy || attempt >= attemptsMax)
        throw new Error(`${operation} answered ${reply.status}: ${text}`);
      await sleep(Number(reply.headers.get('retry-after-ms') ?? 1_000));
    }
  }

  /** Reads the metrics in the Prometheus exposition format. */
  async metrics(): Promise<string> {
    const reply = await fetch(`${this.#url}/metrics`, { signal: AbortSignal.timeout(callMsMax) });
    if (!reply.ok) throw new Error(`/metrics returned status ${reply.status}.`);
    return reply.text();
  }

  /** Detects the HTTP server: uWebSockets.js adds a header to every reply, node:http does not. */
  async detectHttpServer(): Promise<'uws' | 'node'> {
    const reply = await fetch(`${this.#url}/healthz`, { signal: AbortSignal.timeout(callMsMax) });
    await reply.text();
    return reply.headers.has('uwebsockets') ? 'uws' : 'node';
  }
}

/** Returns the bytes of one request, ready to be written to a keep-alive connection. */
export function requestBytes(options: {
  readonly operation: string;
  readonly body: object;
  readonly port: number;
  readonly key: string;
}): Uint8Array {
  const body = Buffer.from(JSON.stringify(options.body));
  const head = [
    `POST /v1/${options.operation} HTTP/1.1`,
    `host: 127.0.0.1:${options.port}`,
    `authorization: Bearer ${options.key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}
