import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });

/** DER element: tag, length, content. */
function encodeDer(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const bytes = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

/** Self-signed certificate like that of SNS, except for the issuer. */
export function selfSignedCertificate(validUntil = '20991231235959Z'): string {
  const oid = (hex: string) => encodeDer(0x06, Buffer.from(hex, 'hex'));
  const algorithm = encodeDer(0x30, oid('2a864886f70d01010b'), encodeDer(0x05));
  const name = encodeDer(
    0x30,
    encodeDer(0x31, encodeDer(0x30, oid('550403'), encodeDer(0x0c, Buffer.from('sns.example')))),
  );
  const validity = encodeDer(
    0x30,
    encodeDer(0x18, Buffer.from('20200101000000Z')),
    encodeDer(0x18, Buffer.from(validUntil)),
  );
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const version = encodeDer(0xa0, encodeDer(0x02, Buffer.from([2])));
  const serial = encodeDer(0x02, Buffer.from([1]));
  const body = encodeDer(0x30, version, serial, algorithm, name, validity, name, key);
  const signature = encodeDer(0x03, Buffer.from([0]), sign('RSA-SHA256', body, privateKey));
  const base64 = encodeDer(0x30, body, algorithm, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

/** SNS message with a valid signature; `wrong` modifies it after signing. */
export function snsMessage(
  fields: Readonly<Record<string, string>>,
  { version = '2', wrong = {} }: { version?: '1' | '2'; wrong?: Readonly<Record<string, string>> } = {},
): string {
  const message: Record<string, string> = {
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    Timestamp: new Date().toISOString(),
    ...fields,
  };
  const lines = [
    'Message',
    'MessageId',
    'Subject',
    'SubscribeURL',
    'Timestamp',
    'Token',
    'TopicArn',
    'Type',
  ].flatMap((name) => (message[name] === undefined ? [] : [name, message[name]]));
  const digest = version === '1' ? 'RSA-SHA1' : 'RSA-SHA256';
  const signature = sign(digest, Buffer.from(`${lines.join('\n')}\n`), privateKey).toString('base64');
  return JSON.stringify({ ...message, SignatureVersion: version, Signature: signature, ...wrong });
}

/** Serves certificates and records confirmed subscriptions. */
export async function startSnsEmulator(t: Test): Promise<{ url: string; confirmed: string[] }> {
  const confirmed: string[] = [];
  const pages: Readonly<Record<string, () => string>> = {
    '/sns.pem': () => selfSignedCertificate(),
    '/old.pem': () => selfSignedCertificate('20210101000000Z'),
    '/broken.pem': () => 'nothing',
  };
  const server = createServer((request, response) => {
    const page = pages[request.url ?? ''];
    if (page !== undefined) return response.end(page());
    confirmed.push(request.url ?? '');
    return response.end('<ConfirmSubscriptionResponse/>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, confirmed };
}
