import { truncateSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { hasErrorCode } from '../core/error-code.ts';
import type { JournalAppend } from './journal-file.ts';
import { decodeJournal } from './journal-format.ts';

/** A finished segment in the data directory. */
export interface JournalSegment {
  readonly path: string;
  readonly bytes: number;
}

interface CommitJournalOptions {
  readonly folder: string;
  readonly clock: Pick<Clock, 'now'>;
}

const namePattern = /^\d{16}\.log$/;

/**
 * Copy of every commit, until a backup target has it. The writer thread appends each group before it writes it to
 * the database, so a commit is never missing after a crash of the process; groups that did not reach the
 * database are removed at the next start. The files are not fsynced: after a power failure the last commits can be
 * missing, which the sequence numbers of the records show.
 */
export class CommitJournal {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'now'>;
  /** Finished segments, oldest first. */
  #finished: JournalSegment[];
  /** Segment of the next group; null until there is one. */
  #current: { readonly path: string; bytes: number } | null = null;
  #previous: number;
  #time = 0;
  #appending = false;
  #onAppended: (() => void)[] = [];

  /** `sequence`: the last commit in the database. */
  static async open(options: CommitJournalOptions, sequence: number): Promise<CommitJournal> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const finished: JournalSegment[] = [];
    const names = (await readdir(options.folder)).filter((name) => namePattern.test(name)).sort();
    for (const name of names) {
      const path = join(options.folder, name);
      const bytes = await cutUncommitted(path, sequence);
      if (bytes > 0) finished.push({ path, bytes });
      else await rm(path);
    }
    return new CommitJournal(options, finished, sequence);
  }

  private constructor({ folder, clock }: CommitJournalOptions, finished: JournalSegment[], sequence: number) {
    this.#folder = folder;
    this.#clock = clock;
    this.#finished = finished;
    this.#previous = sequence;
  }

  /** Bytes of all segments. */
  get bytes(): number {
    return this.#finished.reduce((sum, { bytes }) => sum + bytes, this.#current?.bytes ?? 0);
  }

  /** Returns the record of the next group. Call `end` when its write has ended. */
  begin(sequence: number): JournalAppend {
    this.#current ??= { path: join(this.#folder, `${String(sequence).padStart(16, '0')}.log`), bytes: 0 };
    this.#appending = true;
    this.#time = Math.max(this.#time, this.#clock.now());
    return { path: this.#current.path, sequence, previous: this.#previous, time: this.#time };
  }

  /** `sequence`: that of the group if it is in the database; null removes its record. */
  async end(sequence: number | null): Promise<void> {
    const current = this.#current!;
    try {
      if (sequence === null) cutIfExists(current.path, current.bytes);
      else {
        this.#previous = sequence;
        current.bytes = (await stat(current.path)).size;
      }
    } finally {
      this.#appending = false;
      for (const resume of this.#onAppended) resume();
      this.#onAppended = [];
    }
  }

  /** Finishes the current segment and returns all finished ones, oldest first. */
  async seal(): Promise<readonly JournalSegment[]> {
    if (this.#appending) await new Promise<void>((resolve) => this.#onAppended.push(resolve));
    if (this.#current !== null && this.#current.bytes > 0) {
      this.#finished.push(this.#current);
      this.#current = null;
    }
    return [...this.#finished];
  }

  /** Deletes a finished segment. */
  async remove({ path }: JournalSegment): Promise<void> {
    await rm(path, { force: true });
    this.#finished = this.#finished.filter((segment) => segment.path !== path);
  }
}

/** Removes the records after `sequence` and incomplete ones. Resolves to the remaining bytes. */
async function cutUncommitted(path: string, sequence: number): Promise<number> {
  let end = 0;
  const segment = await readFile(path);
  for (const record of decodeJournal(segment)) {
    if (record.sequence > sequence) break;
    end = record.end;
  }
  if (end < segment.byteLength) await truncate(path, end);
  return end;
}

function cutIfExists(path: string, bytes: number): void {
  try {
    truncateSync(path, bytes);
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error;
  }
}
