import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';

/** Stripe with replies unlike the emulator's: null fields are absent, and every object has unknown fields. */
interface StripeVariantProxy {
  readonly url: string;
  /** Address of the emulator; connections fail while it is empty. */
  target: string;
}

export async function startStripeVariantProxy(t: Test): Promise<StripeVariantProxy> {
  const proxy = { url: '', target: '' };
  const server = createServer((incoming, answer) => {
    forward(incoming, proxy.target).then(
      ({ status, body }) => {
        answer.writeHead(status, { 'content-type': 'application/json' });
        answer.end(body);
      },
      () => incoming.socket.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

async function forward(incoming: IncomingMessage, target: string): Promise<{ status: number; body: string }> {
  const url = new URL(incoming.url ?? '/', target);
  const sent = await bytesOf(incoming);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const { method, headers } = incoming;
    const forwardedHeaders = request(url, { method, headers: { ...headers, host: url.host } }, resolve);
    forwardedHeaders.on('error', reject);
    forwardedHeaders.end(sent);
  });
  const parsedBody: unknown = JSON.parse(String(await bytesOf(answer)));
  return { status: answer.statusCode ?? 500, body: JSON.stringify(parsedBody, variantOf) };
}

function variantOf(_name: string, value: unknown): unknown {
  if (value === null) return undefined;
  const isStripeObject = typeof value === 'object' && !Array.isArray(value) && 'object' in value;
  return isStripeObject ? { ...value, of_tomorrow: { is: ['unknown'] } } : value;
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
