/** Pseudorandom numbers in [0, 1), reproducible from the seed on every machine (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns a copy with `flips` random bits inverted. */
export function flipRandomBits(bytes: Uint8Array, seed: number, flips: number): Uint8Array {
  const random = seededRandom(seed);
  const copy = Uint8Array.from(bytes);
  for (let i = 0; i < flips; i++) copy[Math.floor(random() * copy.length)]! ^= 1 << Math.floor(random() * 8);
  return copy;
}

export function truncateBytes(bytes: Uint8Array, share: number): Uint8Array {
  return bytes.subarray(0, Math.floor(bytes.length * share));
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function utf16(text: string, endian: 'le' | 'be', withByteOrderMark: boolean): Uint8Array {
  const bytes = Buffer.from(withByteOrderMark ? `\ufeff${text}` : text, 'utf16le');
  return endian === 'le' ? bytes : bytes.swap16();
}

export function utf32(text: string, endian: 'le' | 'be', withByteOrderMark: boolean): Uint8Array {
  const points = [...(withByteOrderMark ? `\ufeff${text}` : text)].map(
    (character) => character.codePointAt(0)!,
  );
  const view = new DataView(new ArrayBuffer(points.length * 4));
  points.forEach((point, i) => {
    view.setUint32(i * 4, point, endian === 'le');
  });
  return new Uint8Array(view.buffer);
}
