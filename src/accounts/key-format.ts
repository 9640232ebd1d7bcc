import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../core/ids.ts';

/*
 * An issued key is `ze_`, 30 random characters and 6 checksum characters, all base62 (digits, upper case,
 * lower case, in this order). 62^30 is more than 2^178 keys. The checksum is the CRC-32 (zlib polynomial) of
 * the 30 random characters as ASCII, in base62, most significant digit first, padded with `0`. It
 * distinguishes a mistyped or truncated key from an unknown one without a lookup, and lets secret scanners
 * recognize keys.
 */
const prefix = 'ze_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 30;
const checksumLength = 6;
const issuedKeyPattern = /^ze_[0-9A-Za-z]{36}$/;

/** Random bytes from this value on are discarded, so that all 62 characters are equally likely. */
const unbiasedByteEnd = 256 - (256 % alphabet.length);

/** Key that an operator may set: 16 to 256 printable ASCII characters without spaces. */
export const operatorKeyPattern = /^[\x21-\x7e]{16,256}$/;

/** Returns a new key in plain text. It is shown once and never stored. */
export function generateKey(random: Random): string {
  let randomPart = '';
  while (randomPart.length < randomLength) {
    for (const byte of random.bytes(randomLength * 2)) {
      if (byte < unbiasedByteEnd && randomPart.length < randomLength)
        randomPart += alphabet[byte % alphabet.length];
    }
  }
  return prefix + randomPart + computeChecksum(randomPart);
}

/** Whether `key` has the format of an issued key and a correct checksum. Does not check whether it exists. */
export function isIssuedKey(key: string): boolean {
  if (!issuedKeyPattern.test(key)) return false;
  const randomPart = key.slice(prefix.length, prefix.length + randomLength);
  return key.endsWith(computeChecksum(randomPart));
}

/**
 * Returns the SHA-256 of the key as 64 hexadecimal characters, which is all that is stored. Sufficient
 * because keys are random, unlike passwords.
 */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** Returns the form shown in lists: enough to recognize a key, too little to use or guess it. */
export function maskKey(key: string): string {
  if (!isIssuedKey(key)) return `${key.slice(0, 2)}…${key.slice(-2)}`;
  return `${key.slice(0, prefix.length + 4)}…${key.slice(-4)}`;
}

function computeChecksum(randomPart: string): string {
  let rest = crc32(randomPart);
  let text = '';
  for (let i = 0; i < checksumLength; i += 1) {
    text = alphabet[rest % alphabet.length] + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
