import { endianness } from 'node:os';
import type { ServiceCall } from './call.ts';

/** Maps a long list in turns of the event loop. */
export async function mapInTurns<Item, Result>(
  { yieldToEventLoop }: Pick<ServiceCall, 'yieldToEventLoop'>,
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [i, item] of items.entries()) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    results.push(map(item, i));
  }
  return results;
}

/** Returns the conversion of a vector to numbers, or to little-endian 32-bit floats in base64. */
export function createEncoder(
  format: 'float' | 'base64' | null | undefined,
): (vector: Float32Array) => number[] | string {
  return format === 'base64' ? littleEndianBase64 : (vector) => Array.from(vector);
}

function littleEndianBase64(vector: Float32Array): string {
  const bytes = Buffer.from(vector.slice().buffer);
  return (endianness() === 'LE' ? bytes : bytes.swap32()).toString('base64');
}
