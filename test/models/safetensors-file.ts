export interface TensorInput {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Encodes tensors as a safetensors file of 32-bit floats. */
export function encodeTensors(tensors: readonly TensorInput[]): Buffer {
  let offset = 0;
  const entries = tensors.map(({ name, shape, data }) => {
    const from = offset;
    offset += data.byteLength;
    return [name, { dtype: 'F32', shape, data_offsets: [from, offset] }] as const;
  });
  const header = Buffer.from(
    JSON.stringify({ __metadata__: { format: 'pt' }, ...Object.fromEntries(entries) }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const contents = tensors.map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  return Buffer.concat([length, header, ...contents]);
}
