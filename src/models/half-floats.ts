/** Decodes IEEE 754 half-precision floats: 1 sign bit, 5 exponent bits, 10 fraction bits. */
export function decodeHalfFloats(
  halves: ArrayLike<number> & { readonly buffer: ArrayBufferLike; readonly byteOffset: number },
): Float32Array {
  // The input may be a Float16Array in runtimes that have one; the bits are decoded in either case.
  const bits = new Uint16Array(halves.buffer, halves.byteOffset, halves.length);
  return Float32Array.from(bits, (half) => {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    return sign * (1 + fraction / 1_024) * 2 ** (exponent - 15);
  });
}
