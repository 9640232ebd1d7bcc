import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';

/** Request to AWS Marketplace as received. */
export interface AwsRequest {
  readonly operation: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever a client sends
  readonly body: any;
}

/** Reply: a body, or the type of an error. `cut`: the request takes effect, but the reply never arrives. */
export type AwsReply =
  | { readonly body: object; readonly cut?: true }
  | { readonly error: string; readonly status?: number };

export const awsKey = { id: 'AKIDEXAMPLE', secret: 'a-secret-of-the-seller' } as const;

export interface AwsEmulator {
  readonly url: string;
  readonly requests: AwsRequest[];
  /** Requests with an invalid signature (version 4). */
  readonly invalidSignatures: string[];
}

/** Emulates the metering and entitlement services; every request must be signed. */
export async function startAwsEmulator(
  t: Test,
  answer: (awsRequest: AwsRequest) => AwsReply,
): Promise<AwsEmulator> {
  const requests: AwsRequest[] = [];
  const invalidSignatures: string[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const bytes = Buffer.concat(parts);
      if (!isSigned(request, bytes)) invalidSignatures.push(`${request.headers.authorization}`);
      const operation = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
      const awsRequest = { operation, body: JSON.parse(bytes.toString()) };
      requests.push(awsRequest);
      const awsReply = answer(awsRequest);
      if ('cut' in awsReply) return request.socket.destroy();
      response.setHeader('content-type', 'application/x-amz-json-1.1');
      if ('body' in awsReply) return response.end(JSON.stringify(awsReply.body));
      response.statusCode = awsReply.status ?? 400;
      return response.end(JSON.stringify({ __type: awsReply.error, message: 'as the test wants' }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, invalidSignatures };
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Whether the signature (version 4) matches one computed from the received request. */
function isSigned(request: IncomingMessage, body: Buffer): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d{8})\/([\w-]+)\/([\w-]+)\/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w{64})$/;
  const found = pattern.exec(request.headers.authorization ?? '');
  if (found === null || found[1] !== awsKey.id) return false;
  const [, , day, region, service, names, signature] = found as unknown as string[];
  const headers = names!.split(';').map((name) => `${name}:${String(request.headers[name] ?? '').trim()}\n`);
  const canonical = [request.method, request.url, '', headers.join(''), names, sha256(body)].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = [day!, region!, service!, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${awsKey.secret}`);
  return hmac(key, text).toString('hex') === signature;
}
