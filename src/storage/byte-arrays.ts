import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';

/** Type bytea of PostgreSQL. */
const byteaOid = 17;
/** i32 dimensions, i32 whether there are nulls, u32 type of the elements, i32 elements, i32 first index; big-endian. */
const headerBytes = 20;
const nullLength = -1;
/** Elements copied per step. */
const elementsPerStep = 256;

/**
 * Encodes a `bytea[]` in the binary format of PostgreSQL. The client would write an array as text, with two digits
 * for each byte.
 */
export async function encodeByteArray(
  elements: readonly (Uint8Array | null)[],
  yieldToEventLoop: YieldToEventLoop,
): Promise<Buffer> {
  const size = elements.reduce((sum, element) => sum + 4 + (element?.byteLength ?? 0), headerBytes);
  const array = Buffer.allocUnsafe(size);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  array.writeUInt32BE(byteaOid, 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let offset = headerBytes;
  for (const [i, element] of elements.entries()) {
    const pause = i % elementsPerStep === 0 ? yieldToEventLoop() : null;
    if (pause !== null) await pause;
    array.writeInt32BE(element?.byteLength ?? nullLength, offset);
    offset += 4;
    if (element === null) continue;
    array.set(element, offset);
    offset += element.byteLength;
  }
  return array;
}
