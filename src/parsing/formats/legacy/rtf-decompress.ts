import type { TextBudget } from '../../text-budget.ts';

/** Initial content of the dictionary window. */
const initialWindow =
  '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbol' +
  'ArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx';
const windowBytes = 4_096;
const headerBytes = 16;
const compressedMark = 0x75465a4c;

/**
 * Decompresses as much as possible of the compressed RTF that Outlook stores with a message. Source:
 * [MS-OXRTFCP].
 */
export function decompressRtf(bytes: Uint8Array, budget: TextBudget): Uint8Array {
  if (bytes.length < headerBytes) return new Uint8Array();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(8, true) !== compressedMark) return bytes.subarray(headerBytes);
  const ring = new Uint8Array(windowBytes);
  ring.set(Buffer.from(initialWindow, 'latin1'));
  const out: number[] = [];
  let write = initialWindow.length;
  const put = (byte: number) => {
    out.push(byte);
    ring[write] = byte;
    write = (write + 1) % windowBytes;
  };
  let at = headerBytes;
  while (at < bytes.length) {
    const control = bytes[at++]!;
    budget.consume(8);
    for (let bit = 0; bit < 8 && at < bytes.length; bit++) {
      if ((control & (1 << bit)) === 0) {
        put(bytes[at++]!);
        continue;
      }
      if (at + 2 > bytes.length) return Uint8Array.from(out);
      const reference = (bytes[at]! << 8) | bytes[at + 1]!;
      at += 2;
      const offset = reference >> 4;
      if (offset === write) return Uint8Array.from(out);
      for (let i = 0; i < (reference & 15) + 2; i++) put(ring[(offset + i) % windowBytes]!);
    }
  }
  return Uint8Array.from(out);
}
