import { computeControlShare, decodeText, detectWideCharset, findByteOrderMark } from './encoding/charset.ts';
import { isIso2022Kr } from './encoding/escaped-charsets.ts';
import { controlShareMax } from './formats/text/plain-text.ts';

const headBytes = 4_096;

/** A file as uploaded, with the facts by which its format is detected. */
export class SourceFile {
  readonly bytes: Uint8Array;
  /** Lower-case extension of the path without the dot. */
  readonly extension: string | null;
  #head: { readonly text: string | null } | null = null;

  constructor(bytes: Uint8Array, path: string | null) {
    this.bytes = bytes;
    this.extension = getExtension(path);
  }

  /** Start of the decoded text; null when the file is binary. */
  get head(): string | null {
    this.#head ??= {
      text: mayBeText(this.bytes) ? decodeText(this.bytes.subarray(0, headBytes)).text : null,
    };
    return this.#head.text;
  }

  /** Decodes the first bytes as Latin-1, one character per byte. */
  readLatin1(length: number): string {
    return decodeLatin1(this.bytes, length);
  }

  startsWith(signature: readonly number[]): boolean {
    return startsWith(this.bytes, signature);
  }

  /** Whether the first 32 bytes, in hexadecimal, match. */
  matches(signature: RegExp): boolean {
    return signature.test(Buffer.from(this.bytes.subarray(0, 32)).toString('hex'));
  }
}

function getExtension(path: string | null): string | null {
  const name = path?.split(/[\\/]/).at(-1) ?? '';
  return /[^.]\.([A-Za-z0-9]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? null;
}

/** Whether there is no NUL outside UTF-16/32 and the share of control characters is low. */
function mayBeText(bytes: Uint8Array): boolean {
  if (findByteOrderMark(bytes) !== null || detectWideCharset(bytes) !== null) return true;
  if (bytes.includes(0)) return false;
  const head = decodeLatin1(bytes, 65_536);
  return (isIso2022Kr(head) || computeControlShare(head) <= controlShareMax) && !isKnownBinary(bytes);
}

/** Formats whose first bytes contain no NUL although the rest is not text. */
function isKnownBinary(bytes: Uint8Array): boolean {
  const signatures = [
    [0xff, 0xd8, 0xff],
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    [0x1f, 0x8b, 0x08],
    [0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59],
    [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c],
    [0x28, 0xb5, 0x2f, 0xfd],
  ];
  return signatures.some((signature) => startsWith(bytes, signature));
}

function startsWith(bytes: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, index) => bytes[index] === byte);
}

function decodeLatin1(bytes: Uint8Array, length: number): string {
  return new TextDecoder('latin1').decode(bytes.subarray(0, length));
}
