import { readFile } from 'node:fs/promises';
import type { Logger } from '../core/logger.ts';
import type { Blobs } from '../storage/blobs.ts';
import type { CommitJournal, JournalSegment } from '../storage/commit-journal.ts';
import type { ManagedTarget } from './backup-manager.ts';
import { listSegments, type SegmentInfo, writeSegment } from './journal-segments.ts';

export interface JournalShipperOptions {
  readonly journal: CommitJournal;
  readonly target: ManagedTarget;
  readonly blobs: Pick<Blobs, 'path' | 'holdDeletions'>;
  readonly lineage: string;
  readonly intervalMs: number;
  /** Bytes of waiting commits above which they are dropped. */
  readonly bytesMax: number;
  readonly logger: Logger;
  readonly onSegment: (segment: SegmentInfo) => void;
}

/**
 * Copies finished commits to the target every few seconds. Files of deleted documents are kept until the commits
 * that reference them are copied.
 */
export class JournalShipper {
  readonly #options: JournalShipperOptions;
  readonly #stop = new AbortController();
  #releaseDeletions: () => Promise<void>;
  #timer: NodeJS.Timeout | null = null;
  #shipping: Promise<void> = Promise.resolve();
  /** Last segment on the target. */
  #last: SegmentInfo | null = null;
  #lastError: string | null = null;

  /** Holds deletions of files from the start, before anything is deleted. */
  constructor(options: JournalShipperOptions) {
    this.#options = options;
    this.#releaseDeletions = options.blobs.holdDeletions();
  }

  /** Last commit on the target; null before the first one is copied or found. */
  get last(): SegmentInfo | null {
    return this.#last;
  }

  get lastError(): string | null {
    return this.#lastError;
  }

  get waitingBytes(): number {
    return this.#options.journal.bytes;
  }

  start(): void {
    const { target, lineage, intervalMs } = this.#options;
    this.#shipping = listSegments(target.target, lineage).then(
      (found) => {
        this.#last ??= found.at(-1) ?? null;
      },
      (error: unknown) => this.#recordFailure(error),
    );
    this.#timer = setInterval(() => void this.ship(), intervalMs);
    this.#timer.unref();
  }

  /** Copies all commits so far. Never rejects; after a failure, it is tried again at the next interval. */
  ship(): Promise<void> {
    this.#shipping = this.#shipping.then(() => this.#ship());
    return this.#shipping;
  }

  /** Copies the last commits. Idempotent. Call it after the last write. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.ship();
    this.#stop.abort();
    await this.#releaseDeletions();
  }

  async #ship(): Promise<void> {
    const { journal, blobs, target } = this.#options;
    if (this.#stop.signal.aborted) return;
    const releaseNext = blobs.holdDeletions();
    const segments = await journal.seal();
    try {
      if (segments.length > 0)
        await target.lock.share('journal', async () => {
          for (const segment of segments) await this.#copy(segment);
        });
      // Deletions requested before the segments were sealed.
      await this.#releaseDeletions();
      this.#releaseDeletions = releaseNext;
      this.#lastError = null;
    } catch (error) {
      await releaseNext();
      this.#recordFailure(error);
      await this.#dropExcess();
    }
  }

  async #copy(segment: JournalSegment): Promise<void> {
    const { target, blobs, journal, lineage, onSegment } = this.#options;
    const objects = target.openObjects(this.#stop.signal);
    const destination = { target: target.target, objects, cipher: target.cipher };
    const source = { lineage, blobPath: (hash: string) => blobs.path(hash) };
    const written = await writeSegment(destination, await readFile(segment.path), source);
    await journal.remove(segment);
    if (written === null) return;
    this.#last = written;
    onSegment(written);
  }

  #recordFailure(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message !== this.#lastError)
      this.#options.logger.warn(
        { error: message },
        'the backup target does not accept new commits, will retry',
      );
    this.#lastError = message;
  }

  /** Drops waiting commits when there are too many: the next backup starts another recoverable window. */
  async #dropExcess(): Promise<void> {
    const { journal, bytesMax, logger } = this.#options;
    if (journal.bytes <= bytesMax) return;
    logger.error({ bytes: journal.bytes }, 'commits dropped because the backup target did not accept them');
    for (const segment of await journal.seal()) await journal.remove(segment);
  }
}
