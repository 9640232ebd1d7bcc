import { connect } from 'node:net';
import type { TestRandom } from '../storage/test-random.ts';
import type { PublishedApi, PublishedOperation } from './openapi.ts';

/** Reply of the server to one malformed request. */
export interface RawRequestResult {
  readonly description: string;
  /** Status of each reply; empty if the connection closed without one. */
  readonly statuses: readonly number[];
  readonly text: string;
}

const replyMsMax = 2_000;
const textUnitsMax = 1_000;

/** Bytes that form an invalid or incomplete request. */
export function malformedRequests(
  random: TestRandom,
  token: string,
): readonly (readonly [words: string, bytes: Buffer])[] {
  const post = (headers: readonly string[], body = '') =>
    Buffer.from(
      `POST /v1/documents/add-document HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n${body}`,
      'latin1',
    );
  const json = 'content-type: application/json';
  const noise = Buffer.from(Array.from({ length: 1 + random.below(3_000) }, () => random.below(256)));
  return [
    ['random bytes', noise],
    ['less body than promised', post([json, 'content-length: 1000'], '{"collection_name":')],
    ['more body than promised', post([json, 'content-length: 2'], '{}{}{}{}')],
    ['two lengths', post([json, 'content-length: 2', 'content-length: 7'], '{}')],
    ['a negative length', post([json, 'content-length: -1'], '{}')],
    ['a huge length', post([json, 'content-length: 99999999999999999999'], '{}')],
    ['a length that is not a number', post([json, 'content-length: two'], '{}')],
    [
      'length and chunks',
      post([json, 'content-length: 2', 'transfer-encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'),
    ],
    ['a chunk with a false length', post([json, 'transfer-encoding: chunked'], 'fffffffff\r\n{}\r\n')],
    [
      'a chunk length that is not a number',
      post([json, 'transfer-encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'),
    ],
    ['an unknown encoding', post([json, 'transfer-encoding: gzip', 'content-length: 2'], '{}')],
    ['a compressed body', post([json, 'content-encoding: gzip', 'content-length: 2'], '{}')],
    ['a long header', post([`x-long: ${'a'.repeat(100_000)}`, json, 'content-length: 2'], '{}')],
    [
      'many headers',
      post([...Array.from({ length: 2_000 }, (_, i) => `x-${i}: a`), 'content-length: 2'], '{}'),
    ],
    ['a NUL in a header', post(['x-zero: a\0b', json, 'content-length: 2'], '{}')],
    ['a malformed address', Buffer.from(`GET /%zz%00/../../v1 HTTP/1.1\r\nhost: a\r\n\r\n`)],
    ['a long address', Buffer.from(`GET /${'a'.repeat(60_000)} HTTP/1.1\r\nhost: a\r\n\r\n`)],
    ['an old version', Buffer.from('GET /healthz HTTP/0.9\r\n\r\n')],
    [
      'two requests at once',
      Buffer.concat([post([json, 'content-length: 2'], '{}'), post([json, 'content-length: 2'], '{}')]),
    ],
    ['a binary body', Buffer.concat([post([json, `content-length: ${noise.length}`]), noise])],
    ['deep JSON', post([json, 'content-length: 200000'], '['.repeat(200_000))],
    ['half a header', Buffer.from('POST /v1/documents/add-doc')],
  ];
}

/** Sends raw bytes, at once or slowly, and collects the reply for at most `replyMsMax`. */
export async function sendRaw(
  port: number,
  description: string,
  bytes: Buffer,
  { isSlow }: { readonly isSlow: boolean },
): Promise<RawRequestResult> {
  const parts: Buffer[] = [];
  await new Promise<void>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const timer = setTimeout(() => socket.destroy(), replyMsMax);
    socket.on('data', (part) => parts.push(part));
    // The server may close such a connection at any time.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
    if (!isSlow) socket.write(bytes);
    else sendSlowly(socket, bytes);
  });
  const text = Buffer.concat(parts).toString('latin1');
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  return { description, statuses, text: text.slice(0, textUnitsMax) };
}

function sendSlowly(socket: ReturnType<typeof connect>, bytes: Buffer): void {
  let sent = 0;
  const timer = setInterval(() => {
    socket.write(bytes.subarray(sent, sent + 16));
    sent += 16;
    if (sent >= bytes.length || socket.destroyed) clearInterval(timer);
  }, 10);
  socket.on('close', () => clearInterval(timer));
}

/** An invalid request body: random bytes, or a valid body with one value replaced. */
export function invalidBody(
  api: PublishedApi,
  operation: PublishedOperation,
  random: TestRandom,
): string | Uint8Array {
  const kind = random.below(4);
  if (kind === 0) return Buffer.from(Array.from({ length: random.below(2_000) }, () => random.below(256)));
  const body = api.bodyOf(operation, {});
  const names = [...Object.keys(body), 'unknown'];
  const name = names[random.below(names.length)]!;
  const invalidValue = JSON.stringify({
    ...body,
    [name]: boundaryValues[random.below(boundaryValues.length)],
  });
  if (kind === 1) return invalidValue.slice(0, random.below(invalidValue.length));
  return invalidValue;
}

const boundaryValues: readonly unknown[] = [
  ...[
    null,
    true,
    -1,
    0,
    1.5,
    1e308,
    Number.MAX_SAFE_INTEGER,
    -(2 ** 63),
    '',
    ' ',
    '\0',
    '\ud800',
    'a'.repeat(70_000),
  ],
  ...[
    '../../etc/passwd',
    '%00',
    "' OR 1=1",
    '{{7*7}}',
    '__proto__',
    'constructor',
    '\u202e',
    '🐟'.repeat(1_000),
  ],
  ...[[], {}, [[]], [null], ['a', ['b']], { $gt: '' }, { __proto__: { admin: true } }, { toString: 'x' }],
  ...[Array.from({ length: 5_000 }, () => 0), Array.from({ length: 300 }, (_, i) => `item ${i}`)],
  nestedArray(200),
];

function nestedArray(depth: number): unknown {
  let value: unknown = 'deep';
  for (let i = 0; i < depth; i += 1) value = [value];
  return value;
}
