import { createServer, type IncomingHttpHeaders, request as open } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';
import type { TestServer } from './server.ts';

/** Request as sent by a client. */
export interface ProxiedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly status: number;
}

/** Forwards and records requests, so that a test can check the number and content of a client's requests. */
export class RecordingProxy {
  readonly requests: ProxiedRequest[] = [];
  readonly url: string;

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`;
  }

  static async open(t: Test, server: TestServer): Promise<RecordingProxy> {
    const httpServer = createServer((incoming, outgoing) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () => {
        const { method = '', url = '', headers } = incoming;
        const body = Buffer.concat(parts);
        const upstreamRequest = open(`${server.url}${url}`, { method, headers }, (reply) => {
          const status = reply.statusCode ?? 0;
          proxy.requests.push({ method, url, headers, body: body.toString(), status });
          outgoing.writeHead(status, reply.headers);
          reply.pipe(outgoing);
        });
        upstreamRequest.on('error', () => outgoing.destroy());
        upstreamRequest.end(body);
      });
    });
    await new Promise<void>((resolve) => httpServer.listen(0, '127.0.0.1', resolve));
    const proxy = new RecordingProxy((httpServer.address() as AddressInfo).port);
    t.teardown(() => {
      httpServer.closeAllConnections();
      httpServer.close();
    });
    return proxy;
  }

  /** Statuses of the replies to one operation, in order. */
  statuses(operation: string): number[] {
    return this.requests
      .filter(({ url }) => url.split('?')[0] === `/v1/${operation}`)
      .map(({ status }) => status);
  }
}
