import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';
import { toTimestamp } from '../core/timestamps.ts';

export interface CertificateFiles {
  /** PEM file: the certificate of the server, then the intermediate certificates. */
  readonly certificateFile: string;
  /** PEM file: the private key, without a passphrase. */
  readonly keyFile: string;
}

/** A valid certificate of the server and its key. */
export interface Certificate {
  readonly files: CertificateFiles;
  readonly certificatePem: Buffer;
  readonly keyPem: Buffer;
  /** For the log, such as `DNS:quarry.example.com`. */
  readonly names: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface CertificateFileContents {
  readonly certificatePem: Buffer;
  readonly keyPem: Buffer;
  /** Equal for equal contents. */
  readonly fingerprint: string;
}

/** Errors: `unavailable` with the file, the setting that names it and the reason. */
export async function readCertificateFiles(files: CertificateFiles): Promise<CertificateFileContents> {
  const certificatePem = await readPem(files.certificateFile, 'QUARRY_TLS_CERTIFICATE_FILE');
  const keyPem = await readPem(files.keyFile, 'QUARRY_TLS_KEY_FILE');
  const hash = createHash('sha256').update(`${certificatePem.length}:`).update(certificatePem).update(keyPem);
  return { certificatePem, keyPem, fingerprint: hash.digest('hex') };
}

async function readPem(file: string, setting: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'the file does not exist',
      EACCES: 'the user of the server is not allowed to read it; change its owner or its mode',
      EISDIR: 'it is a folder; name a PEM file',
    };
    throw certificateError(
      `${setting} (${file}) cannot be read: ${reasons[code ?? ''] ?? message} (${code}).`,
      cause,
    );
  }
}

/**
 * Checks that the files are a certificate that is valid at `now` (milliseconds since the epoch) and its key. Errors:
 * `unavailable` with the file and the reason.
 */
export function parseCertificate(
  files: CertificateFiles,
  { certificatePem, keyPem }: CertificateFileContents,
  now: number,
): Certificate {
  const chain = parseChain(files.certificateFile, certificatePem);
  const [leaf] = chain as [X509Certificate];
  checkKey(files, chain, parseKey(files.keyFile, keyPem));
  const expiresAt = Date.parse(leaf.validTo);
  if (expiresAt <= now)
    throw certificateError(
      `The certificate in ${files.certificateFile} expired at ${toTimestamp(expiresAt)}. Renew it, then start the server again.`,
    );
  const validFrom = Date.parse(leaf.validFrom);
  if (validFrom > now)
    throw certificateError(
      `The certificate in ${files.certificateFile} is valid only from ${toTimestamp(validFrom)}, and the clock of this machine is at ${toTimestamp(now)}. Check the clock, or use another certificate.`,
    );
  const names = leaf.subjectAltName ?? leaf.subject.replaceAll('\n', ', ');
  return { files, certificatePem, keyPem, names, expiresAt };
}

function parseChain(file: string, pem: Buffer): X509Certificate[] {
  const blocks =
    pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) {
    throw certificateError(
      `${file} has no certificate: a PEM file with the line "-----BEGIN CERTIFICATE-----" is expected. Set QUARRY_TLS_CERTIFICATE_FILE to it.`,
    );
  }
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch (cause) {
    throw certificateError(`A certificate in ${file} is damaged: ${(cause as Error).message}.`, cause);
  }
}

function parseKey(file: string, pem: Buffer): KeyObject {
  const text = pem.toString('latin1');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text)) {
    throw certificateError(
      `The private key in ${file} is encrypted. Store it without a passphrase: openssl pkey -in ${file} -out NEW_FILE`,
    );
  }
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw certificateError(
      `${file} has no private key: a PEM file with the line "-----BEGIN PRIVATE KEY-----" is expected. Set QUARRY_TLS_KEY_FILE to it.`,
    );
  }
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw certificateError(`The private key in ${file} is damaged: ${(cause as Error).message}.`, cause);
  }
}

function checkKey(files: CertificateFiles, chain: readonly X509Certificate[], key: KeyObject): void {
  if (chain[0]!.checkPrivateKey(key)) return;
  const { certificateFile, keyFile } = files;
  if (chain.some((certificate) => certificate.checkPrivateKey(key)))
    throw certificateError(
      `The certificate of the server is not the first one in ${certificateFile}. Put it before the intermediate certificates.`,
    );
  throw certificateError(
    `The private key in ${keyFile} does not belong to the certificate in ${certificateFile}. Use the key from which that certificate was requested.`,
  );
}

function certificateError(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', message, cause === undefined ? {} : { cause });
}
