import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { toTimestamp } from '../core/timestamps.ts';
import {
  type Certificate,
  type CertificateFiles,
  parseCertificate,
  readCertificateFiles,
} from './certificate.ts';

export interface CertificateMonitorOptions {
  readonly files: CertificateFiles;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly intervalMs?: number;
}

/**
 * The certificate of the server. Reads its files every 10 seconds: mounted secrets and renewed certificates are replaced
 * by renaming links and folders, which file system events do not show reliably. Files that are not valid leave the
 * current certificate in use.
 */
export class CertificateMonitor {
  readonly #options: CertificateMonitorOptions;
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  #current: Certificate;
  #fingerprint: string;
  #failures = 0;
  #lastError: string | null = null;
  #replace: ((certificate: Certificate) => void) | null = null;

  private constructor(options: CertificateMonitorOptions, current: Certificate, fingerprint: string) {
    this.#options = options;
    this.#current = current;
    this.#fingerprint = fingerprint;
  }

  /** Errors: `unavailable` with the reason why the files are not usable. */
  static async open(options: CertificateMonitorOptions): Promise<CertificateMonitor> {
    const contents = await readCertificateFiles(options.files);
    const current = parseCertificate(options.files, contents, options.clock.now());
    return new CertificateMonitor(options, current, contents.fingerprint);
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Number of failed replacements since the start. */
  get failures(): number {
    return this.#failures;
  }

  /** Reason why the current files are not in use; null if they are. */
  get lastError(): string | null {
    return this.#lastError;
  }

  /** Starts checking the files. `replace` takes the new certificate into use; it may throw. */
  start(replace: (certificate: Certificate) => void): void {
    this.#replace = replace;
    const { intervalMs = limits.certificateCheckMs } = this.#options;
    this.#timer = setInterval(() => void this.check(), intervalMs).unref();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#replace = null;
    await this.#checking;
  }

  /** Takes changed files into use. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { files, clock, logger } = this.#options;
    try {
      const contents = await readCertificateFiles(files);
      if (contents.fingerprint === this.#fingerprint) {
        this.#lastError = null;
        return;
      }
      const certificate = parseCertificate(files, contents, clock.now());
      this.#replace?.(certificate);
      this.#current = certificate;
      this.#fingerprint = contents.fingerprint;
      this.#lastError = null;
      const { names, expiresAt } = certificate;
      logger.info({ names, expiresAt: toTimestamp(expiresAt) }, 'TLS certificate replaced');
    } catch (error) {
      this.#recordFailure(error);
    }
  }

  /** Counts and logs each reason once, although the check is repeated. */
  #recordFailure(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === this.#lastError) return;
    this.#lastError = message;
    this.#failures += 1;
    const reason = error instanceof AppError ? message : `the server does not accept the files: ${message}`;
    this.#options.logger.error(
      { reason, expiresAt: new Date(this.#current.expiresAt).toISOString() },
      'TLS certificate not replaced; the previous one stays in use',
    );
  }
}
