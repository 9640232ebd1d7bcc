import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import type { Random } from '../core/ids.ts';
import type { ObjectCipher } from './object-store.ts';

const algorithm = 'aes-256-gcm';
const saltBytes = 32;
const tagBytes = 16;
/** Bytes of plain text per authenticated piece. */
const pieceBytes = 65_536;

/**
 * Encrypts objects with a key of 32 bytes. Each object has its own key, derived from a random salt at its start and
 * from its name, so that objects cannot be exchanged. It is encrypted in pieces, whose nonces number them and mark
 * the last one, so that none can be removed or moved.
 */
export class ObjectKey implements ObjectCipher {
  readonly #key: Uint8Array;
  readonly #random: Pick<Random, 'bytes'>;

  constructor(key: Uint8Array, random: Pick<Random, 'bytes'>) {
    this.#key = key;
    this.#random = random;
  }

  nameOf(contentHash: string): string {
    return createHmac('sha256', this.#key).update(`quarry object ${contentHash}`).digest('hex');
  }

  async *encrypt(parts: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array, void, void> {
    const salt = this.#random.bytes(saltBytes);
    const key = this.#deriveKey(salt, name);
    yield salt;
    for await (const { piece, number, isLast } of splitPieces(parts, pieceBytes)) {
      const cipher = createCipheriv(algorithm, key, nonceOf(number, isLast));
      yield Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
    }
  }

  async *decrypt(parts: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array, void, void> {
    const reader = new PrefixReader(parts);
    const key = this.#deriveKey(await reader.read(saltBytes, name), name);
    for await (const { piece, number, isLast } of splitPieces(reader.rest(), pieceBytes + tagBytes)) {
      if (piece.byteLength < tagBytes) throw changed(name);
      const end = piece.byteLength - tagBytes;
      const decipher = createDecipheriv(algorithm, key, nonceOf(number, isLast));
      decipher.setAuthTag(piece.subarray(end));
      const start = decipher.update(piece.subarray(0, end));
      try {
        yield Buffer.concat([start, decipher.final()]);
      } catch (cause) {
        throw changed(name, cause);
      }
    }
  }

  #deriveKey(salt: Uint8Array, name: string): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.#key, salt, `quarry body ${name}`, 32));
  }
}

/** Splits bytes that arrive in pieces of any size; there is always a last piece, which may be empty. */
async function* splitPieces(
  parts: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ readonly piece: Buffer; readonly number: number; readonly isLast: boolean }, void, void> {
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  for await (const part of parts) {
    rest = Buffer.concat([rest, part]);
    while (rest.byteLength > size) {
      yield { piece: rest.subarray(0, size), number, isLast: false };
      rest = rest.subarray(size);
      number += 1;
    }
  }
  yield { piece: rest, number, isLast: true };
}

/** Reads a fixed number of bytes before the rest. */
class PrefixReader {
  readonly #parts: AsyncIterator<Uint8Array>;
  #buffered: Buffer = Buffer.alloc(0);

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.#parts = parts[Symbol.asyncIterator]();
  }

  async read(count: number, name: string): Promise<Uint8Array> {
    while (this.#buffered.byteLength < count) {
      const { value, done } = await this.#parts.next();
      if (done === true) throw changed(name);
      this.#buffered = Buffer.concat([this.#buffered, value]);
    }
    const prefix = this.#buffered.subarray(0, count);
    this.#buffered = this.#buffered.subarray(count);
    return prefix;
  }

  async *rest(): AsyncGenerator<Uint8Array, void, void> {
    yield this.#buffered;
    for (let next = await this.#parts.next(); next.done !== true; next = await this.#parts.next())
      yield next.value;
  }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(number, 0);
  nonce.writeUInt8(isLast ? 1 : 0, 11);
  return nonce;
}

function changed(name: string, cause?: unknown): AppError {
  return new AppError(
    'bad_gateway',
    `The object ${name} cannot be decrypted: it was changed, or QUARRY_BACKUP_KEY is another key.`,
    { cause },
  );
}
