/** Image kinds supported by OCR, detected by their first bytes. */
export type ImageKind = 'png' | 'jpeg' | 'webp' | 'gif' | 'tiff' | 'bmp' | 'heic';

/** Signatures of each kind: leading bytes in hexadecimal, `.` for any digit. */
const signatures: readonly (readonly [ImageKind, RegExp])[] = [
  ['png', /^89504e470d0a1a0a/],
  ['jpeg', /^ffd8ff/],
  ['webp', /^52494646.{8}57454250/],
  ['gif', /^474946383[79]61/],
  ['tiff', /^(?:4949(?:2a|2b)00|4d4d00(?:2a|2b))/],
  // The size of the second header distinguishes a bitmap from a text that starts with the same two letters.
  ['bmp', /^424d.{8}00000000.{8}(?:0c|28|34|38|40|6c|7c)000000/],
  // ftyp, then heic, heix, heim, heis, hevc, mif1 or msf1
  ['heic', /^000000..66747970(?:686569(?:63|78|6d|73)|68657663|6d696631|6d736631)/],
];

export function detectImageKind(bytes: Uint8Array): ImageKind | null {
  const head = Buffer.from(bytes.subarray(0, 32)).toString('hex');
  return signatures.find(([, start]) => start.test(head))?.[0] ?? null;
}
