/** Parts of the binary formats of Office 97-2003. */

export function uint16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, i) => {
    bytes.writeUInt16LE(value & 0xffff, i * 2);
  });
  return bytes;
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32LE(value >>> 0, i * 4);
  });
  return bytes;
}

export function float64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

export function utf16le(text: string): Buffer {
  return Buffer.from(text, 'utf16le');
}

/** Property set with the title, the same in all three formats. */
export function summaryInformation(title: string): Uint8Array {
  const text = Buffer.from(`${title}\0`, 'latin1');
  const section = Buffer.concat([uint32(24 + text.length, 1, 2, 16, 30, text.length), text]);
  return Buffer.concat([Buffer.alloc(44), uint32(48), section]);
}
