import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { describedError } from '../core/described-error.ts';
import type { Logger } from '../core/logger.ts';
import { ModelError } from '../core/model-error.ts';
import type { ShardVersion } from '../index/replacement-index.ts';
import type { Versions } from '../storage/versions.ts';

/** Progress of a model change. */
export interface ModelChangeProgress {
  readonly model: string;
  /** Number of live documents whose vectors are done. */
  readonly done: number;
  readonly total: number;
  /** Reason for waiting, as a sentence; null while it progresses. */
  readonly waitReason: string | null;
}

/** A version whose vectors cannot be computed yet. */
interface PendingVersion {
  readonly version: ShardVersion;
  readonly isRemoved: () => boolean;
}

export interface ModelChangeRunOptions {
  readonly collectionId: string;
  readonly versions: Pick<Versions, 'get'>;
  readonly logger: Logger;
  /** Whether the log may contain document text. */
  readonly mayLogContent: () => boolean;
}

/** Milliseconds between two progress lines in the log. */
const logIntervalMs = 30_000;
/**
 * Milliseconds before retrying an operation that failed without a `retryAfterMs`; doubled with each failure
 * up to the maximum.
 */
const retryMs = 5_000;
const retryMsMax = 60_000;
/** Milliseconds between checks whether a waiting version is still needed. */
const pollIntervalMs = 250;

/** A running model change of one collection: its progress, and the reasons for which it waits. */
export class ModelChangeRun {
  readonly collectionId: string;
  /** Number of documents whose vectors are done. */
  done = 0;
  /** Aborts the current pass, so that the run reads the target state again. */
  passController = new AbortController();
  ended: Promise<void> = Promise.resolve();
  readonly #options: ModelChangeRunOptions;
  /** Reasons for waiting, by version or for the whole change. */
  readonly #waitReasons = new Map<number | 'all', string>();
  /** Time of the last progress line in the log. */
  #loggedAt = performance.now();

  constructor(options: ModelChangeRunOptions) {
    this.#options = options;
    this.collectionId = options.collectionId;
  }

  /** The oldest reason for waiting, as a sentence; null while the run progresses. */
  get waitReason(): string | null {
    for (const reason of this.#waitReasons.values()) return reason;
    return null;
  }

  clearWaitReasons(): void {
    this.#waitReasons.clear();
  }

  clearWaitReason({ version }: ShardVersion): void {
    this.#waitReasons.delete(version);
  }

  /** Logs the progress at most every `logIntervalMs`. */
  logProgress(readProgress: () => ModelChangeProgress | null): void {
    const now = performance.now();
    if (now - this.#loggedAt < logIntervalMs) return;
    this.#loggedAt = now;
    const { collectionId } = this;
    this.#options.logger.info({ collectionId, ...readProgress() }, 'model change in progress');
  }

  /**
   * Records the reason and waits for `retryAfterMs` or the backoff, or until the affected version is removed.
   */
  async waitForRetry(error: unknown, failures: number, pendingVersion?: PendingVersion): Promise<void> {
    const { collectionId } = this;
    const { logger, mayLogContent } = this.#options;
    const retryAfterMs = error instanceof AppError ? error.options.retryAfterMs : undefined;
    const reason = this.#describe(error, pendingVersion);
    this.#waitReasons.set(pendingVersion?.version.version ?? 'all', reason);
    if (retryAfterMs === undefined)
      logger.error(
        { collectionId, error: describedError(error, mayLogContent()) },
        'model change step failed',
      );
    const ms = retryAfterMs ?? Math.min(retryMsMax, retryMs * 2 ** (failures - 1));
    const { signal } = this.passController;
    for (
      let left = ms;
      left > 0 && !signal.aborted && pendingVersion?.isRemoved() !== true;
      left -= pollIntervalMs
    )
      await wait(Math.min(left, pollIntervalMs), undefined, { signal, ref: false }).catch(() => {});
  }

  /**
   * Returns the reason for waiting. A temporary error has a general cause; any other may be caused by one
   * document.
   */
  #describe(error: unknown, pendingVersion: PendingVersion | undefined): string {
    const message = publicMessageOf(error);
    if (pendingVersion === undefined) return message;
    if (error instanceof AppError && error.options.retryAfterMs !== undefined) return message;
    const path = this.#options.versions.get(this.collectionId, pendingVersion.version.version)?.path;
    if (path === undefined) return message;
    return `The document ${JSON.stringify(path)} blocks the model change: ${message} The change continues when the document can be embedded, is replaced or is deleted.`;
  }
}

function publicMessageOf(error: unknown): string {
  if (error instanceof AppError) return error.message;
  if (error instanceof ModelError) return error.publicMessage;
  return 'Re-embedding failed because of an internal error. See the server log.';
}
