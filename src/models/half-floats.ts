/** IEEE 754 half precision as floats: 1 sign bit, 5 of the exponent, 10 of the fraction. */
export function decodeHalfFloats(
  halves: ArrayLike<number> & { readonly buffer: ArrayBufferLike; readonly byteOffset: number },
): Float32Array {
  // Where JavaScript has half floats of its own, they arrive as such; their bits are read either way.
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
