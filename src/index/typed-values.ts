import { type GeoArea, type GeoPoint, toUnitSphere } from '../core/geo.ts';
import { formatDay, type Instant } from '../core/instants.ts';

/**
 * Encodes values other than strings for the engine, in the format of native/engine/typed_values.h: their first byte
 * starts no UTF-8 text, and their order is that of the values.
 */
const types = { number: 0xf8, boolean: 0xf9, instant: 0xfa, point: 0xfb, area: 0xfc } as const;

const signBit = 0x80;

/** Writes a double so that the order of the bytes is that of the numbers. Returns the next offset. */
function writeOrdered(bytes: Buffer, value: number, offset: number): number {
  // The addition turns -0 into 0, which is equal.
  bytes.writeDoubleBE(value + 0, offset);
  if (bytes[offset]! < signBit) bytes[offset]! += signBit;
  else for (let i = offset; i < offset + 8; i++) bytes[i] = ~bytes[i]!;
  return offset + 8;
}

function writeDoubles(bytes: Buffer, values: readonly number[], offset: number): void {
  for (const [i, value] of values.entries()) bytes.writeDoubleBE(value, offset + 8 * i);
}

export function encodeNumber(value: number): Uint8Array {
  const bytes = Buffer.alloc(9, types.number);
  writeOrdered(bytes, value, 1);
  return bytes;
}

export function encodeBoolean(value: boolean): Uint8Array {
  return Uint8Array.of(types.boolean, value ? 1 : 0);
}

export function encodePoint(point: GeoPoint): Uint8Array {
  const bytes = Buffer.alloc(41, types.point);
  writeOrdered(bytes, point.lat, 1);
  writeOrdered(bytes, point.lon, 9);
  writeDoubles(bytes, toUnitSphere(point), 17);
  return bytes;
}

export function encodeInstant(instant: Instant): Uint8Array {
  const bytes = Buffer.alloc(33, types.instant);
  bytes.writeBigInt64BE(BigInt(instant.seconds), 1);
  bytes[1]! ^= signBit;
  bytes.writeUInt32BE(instant.nanoseconds, 9);
  bytes.write(formatDay(instant, -1) + formatDay(instant, 1), 13);
  return bytes;
}

export function encodeArea(area: GeoArea): Uint8Array {
  const details = area.kind === 'radius' ? [...area.center, area.squareMax] : [area.west, area.east];
  const bytes = Buffer.alloc(18 + 8 * details.length, types.area);
  writeOrdered(bytes, area.south, 1);
  writeOrdered(bytes, area.north, 9);
  bytes.write(area.kind === 'radius' ? 'r' : 'b', 17);
  writeDoubles(bytes, details, 18);
  return bytes;
}
