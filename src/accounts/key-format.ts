import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../core/ids.ts';

/*
 * An issued key is `ze_`, 30 characters of chance and 6 of checksum, all of them base62 (digits, capitals, small
 * letters, in this order). 62^30 is more than 2^178 keys. The checksum is the CRC-32 (zlib's polynomial) of the 30
 * characters of chance as ASCII, written in base62, most significant digit first, padded with `0`: a typing error
 * or a cut key is told from an unknown one without any look-up, and a secret scanner can tell a key from noise.
 */
const prefix = 'ze_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 30;
const checksumLength = 6;
const issuedKeyPattern = /^ze_[0-9A-Za-z]{36}$/;

/** Bytes from here on are thrown away, so that each of the 62 characters is equally likely. */
const unbiasedByteEnd = 256 - (256 % alphabet.length);

/** What an operator may set as a key: 16 to 256 printable ASCII characters without blanks. */
export const operatorKeyPattern = /^[\x21-\x7e]{16,256}$/;

/** A new key in clear. It is shown once and never stored. */
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

/** True when `key` has the shape of an issued key and its checksum is right; says nothing of whether it exists. */
export function isIssuedKey(key: string): boolean {
  if (!issuedKeyPattern.test(key)) return false;
  const randomPart = key.slice(prefix.length, prefix.length + randomLength);
  return key.endsWith(computeChecksum(randomPart));
}

/** SHA-256 of the key, 64 hexadecimal characters: all that is stored of it. Enough, for keys are not passwords. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** What a list shows: enough to recognise a key, too little to use or to guess it. */
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
