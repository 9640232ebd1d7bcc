import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';

interface ReceivedMessage {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Receiver of webhooks on this machine, which replies with `status`. */
export class WebhookReceiver {
  readonly received: ReceivedMessage[] = [];
  readonly port: number;
  status = 200;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(t: Pick<Test, 'teardown'>): Promise<WebhookReceiver> {
    const http = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      request.on('end', () => {
        receiver.received.push({ headers: request.headers, body });
        response.writeHead(receiver.status).end();
      });
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    t.teardown(() => http.close());
    const receiver = new WebhookReceiver((http.address() as AddressInfo).port);
    return receiver;
  }
}
