import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** A Stripe that answers otherwise than the emulator: what is null is absent, and everything has more than is known. */
interface OtherStripe {
  readonly url: string;
  /** Where the emulator is; while it is empty, nobody is there. */
  target: string;
}

export async function startOtherStripe(t: Test): Promise<OtherStripe> {
  const other = { url: '', target: '' };
  const server = createServer((asked, answer) => {
    answerTo(asked, other.target).then(
      ({ status, body }) => {
        answer.writeHead(status, { 'content-type': 'application/json' });
        answer.end(body);
      },
      () => asked.socket.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  other.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return other;
}

async function answerTo(asked: IncomingMessage, target: string): Promise<{ status: number; body: string }> {
  const url = new URL(asked.url ?? '/', target);
  const sent = await bytesOf(asked);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const { method, headers } = asked;
    const passed = request(url, { method, headers: { ...headers, host: url.host } }, resolve);
    passed.on('error', reject);
    passed.end(sent);
  });
  const told: unknown = JSON.parse(String(await bytesOf(answer)));
  return { status: answer.statusCode ?? 500, body: JSON.stringify(told, otherwise) };
}

function otherwise(_name: string, value: unknown): unknown {
  if (value === null) return undefined;
  const isThing = typeof value === 'object' && !Array.isArray(value) && 'object' in value;
  return isThing ? { ...value, of_tomorrow: { is: ['unknown'] } } : value;
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
