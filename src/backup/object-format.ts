import { createHash, timingSafeEqual } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, createGzip, gzip } from 'node:zlib';
import { AppError } from '../core/app-error.ts';

/**
 * Format of an object: 4 bytes magic, 1 byte flags, body, SHA-256 of everything before it, so that damage is
 * detected without other files and without a key.
 */
const magic = Buffer.from('QBO1');
const headerBytes = magic.byteLength + 1;
const digestBytes = 32;

const flagGzip = 1;
const flagEncrypted = 2;

const gzipLevel = 1;
/** Bytes compressed to decide whether compression is worthwhile. */
const sampleBytes = 65_536;
/** Share of the size that compression must save. */
const savingsMin = 0.1;

/** Encryption of object bodies. */
export interface BodyCipher {
  /** `name`: the name of the object, which becomes part of what is authenticated. */
  encrypt(parts: AsyncIterable<Uint8Array>, name: string): AsyncIterable<Uint8Array>;
  /** Throws an error if the body was changed or belongs to another name. */
  decrypt(parts: AsyncIterable<Uint8Array>, name: string): AsyncIterable<Uint8Array>;
}

interface EncodeOptions {
  readonly name: string;
  readonly isCompressed: boolean;
  readonly cipher: BodyCipher | null;
}

/** Whether the first bytes of a content suggest that compression saves space. */
export async function isCompressible(start: Uint8Array): Promise<boolean> {
  const sample = start.subarray(0, sampleBytes);
  if (sample.byteLength === 0) return false;
  const compressed = await promisify(gzip)(sample, { level: gzipLevel });
  return compressed.byteLength < sample.byteLength * (1 - savingsMin);
}

/** Encodes the content of an object. */
export async function* encodeObject(
  content: AsyncIterable<Uint8Array>,
  { name, isCompressed, cipher }: EncodeOptions,
): AsyncGenerator<Uint8Array, void, void> {
  const digest = createHash('sha256');
  const flags = (isCompressed ? flagGzip : 0) | (cipher === null ? 0 : flagEncrypted);
  const header = Buffer.concat([magic, Buffer.of(flags)]);
  digest.update(header);
  yield header;
  const packed = isCompressed ? transform(content, createGzip({ level: gzipLevel })) : content;
  for await (const part of cipher === null ? packed : cipher.encrypt(packed, name)) {
    digest.update(part);
    yield part;
  }
  yield digest.digest();
}

/**
 * Decodes an object. Throws at the end at the latest if it is damaged: use the content only after the last
 * part arrived.
 */
export async function* decodeObject(
  stored: AsyncIterable<Uint8Array>,
  name: string,
  cipher: BodyCipher | null,
): AsyncGenerator<Uint8Array, void, void> {
  const body = readBody(stored, name);
  const { value: flags, done } = await body.next();
  if (done === true || typeof flags !== 'number') throw damaged(name, 'it is empty');
  const parts = body as AsyncIterable<Uint8Array>;
  if ((flags & flagEncrypted) !== 0 && cipher === null) throw keyMissing(name);
  const packed = (flags & flagEncrypted) === 0 ? parts : cipher!.decrypt(parts, name);
  yield* (flags & flagGzip) === 0 ? packed : decompress(packed, name);
}

async function* decompress(
  packed: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* transform(packed, createGunzip());
  } catch (cause) {
    if (!String((cause as { code?: unknown }).code).startsWith('Z_')) throw cause;
    throw damaged(name, 'it cannot be decompressed', cause);
  }
}

/** Checks an object without a key. Errors: `AppError` when it is damaged. Resolves to its stored bytes. */
export async function checkObject(stored: AsyncIterable<Uint8Array>, name: string): Promise<number> {
  let bytes = headerBytes + digestBytes;
  for await (const part of readBody(stored, name)) if (typeof part !== 'number') bytes += part.byteLength;
  return bytes;
}

/** Yields the flags, then the body; throws after the last part when the digest differs. */
async function* readBody(
  stored: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<number | Uint8Array, void, void> {
  const digest = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);
  let hasHeader = false;
  for await (const part of stored) {
    rest = rest.byteLength === 0 ? Buffer.from(part) : Buffer.concat([rest, part]);
    if (!hasHeader) {
      if (rest.byteLength < headerBytes) continue;
      if (!rest.subarray(0, magic.byteLength).equals(magic)) throw damaged(name, 'it is not an object');
      digest.update(rest.subarray(0, headerBytes));
      yield rest.readUInt8(magic.byteLength);
      rest = rest.subarray(headerBytes);
      hasHeader = true;
    }
    if (rest.byteLength <= digestBytes) continue;
    const body = rest.subarray(0, rest.byteLength - digestBytes);
    rest = rest.subarray(body.byteLength);
    digest.update(body);
    yield body;
  }
  if (!hasHeader || rest.byteLength !== digestBytes) throw damaged(name, 'it is truncated');
  if (!timingSafeEqual(rest, digest.digest())) throw damaged(name, 'its SHA-256 differs');
}

async function* transform(
  content: AsyncIterable<Uint8Array>,
  stream: NodeJS.ReadWriteStream & AsyncIterable<string | Buffer>,
): AsyncGenerator<Uint8Array, void, void> {
  // An error of the content destroys the stream, so that the loop below throws it.
  pipeline(Readable.from(content, { objectMode: false }), stream, () => undefined);
  for await (const part of stream) yield part as Uint8Array;
}

function damaged(name: string, reason: string, cause?: unknown): AppError {
  return new AppError('bad_gateway', `The object ${name} is damaged: ${reason}.`, { cause });
}

function keyMissing(name: string): AppError {
  return new AppError('bad_request', `The object ${name} is encrypted. Set QUARRY_BACKUP_KEY.`);
}
