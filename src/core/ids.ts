import { createHash, randomBytes, randomUUID } from 'node:crypto';

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Source of randomness, passed as an argument so that a simulation can replay it from a seed. */
export interface Random {
  uuid(): string;
  /** `count` random bytes. */
  bytes(count: number): Uint8Array;
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
};

/**
 * Creates a UUID with a leading timestamp (RFC 9562, version 7): ids sort by the millisecond of creation.
 * `uuid` supplies the random bits. `now`: milliseconds since the Unix epoch.
 */
export function createUuidV7(now: number, uuid: string): string {
  const time = Math.trunc(now).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${uuid.slice(15)}`;
}

/** Creates a name-based UUID (RFC 9562, version 8, SHA-256): equal parts give the same id on every machine. */
export function deriveUuid(...parts: readonly (string | number)[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}
