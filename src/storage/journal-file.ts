import { closeSync, fstatSync, ftruncateSync, openSync, writevSync } from 'node:fs';
import { encodeJournalHeader, type JournalRecord } from './journal-format.ts';

/** Record of a group, and the segment to which it is appended. */
export interface JournalAppend extends JournalRecord {
  readonly path: string;
}

/** Appends groups to journal segments on the writer thread. Not fsynced: it only has to survive the process. */
export class JournalFile {
  #path = '';
  #file: number | null = null;

  append({ path, ...record }: JournalAppend, group: Uint8Array): void {
    const file = this.#open(path);
    const before = fstatSync(file).size;
    const header = encodeJournalHeader(record, group);
    const written = writevSync(file, [header, group]);
    if (written === header.byteLength + group.byteLength) return;
    ftruncateSync(file, before);
    throw new Error(`the journal segment ${path} could not be extended`);
  }

  #open(path: string): number {
    if (this.#file !== null && this.#path === path) return this.#file;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = openSync(path, 'a', 0o600);
    this.#path = path;
    return this.#file;
  }
}
