/** One file of a backup target. */
export interface TargetEntry {
  /** Path below the target, with slashes. */
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/**
 * Place that stores backups: files by name, each written once and as a whole. `directory-target.ts` and
 * `s3-target.ts` implement it.
 */
export interface BackupTarget {
  /** As given by the operator, for messages. */
  readonly location: string;
  has(name: string): Promise<boolean>;
  /** Writes a file; a reader never sees a part of it. Replaces an existing file. */
  write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void>;
  /** Makes all earlier writes and removals survive a power failure. */
  flush(): Promise<void>;
  /** Reads a file in pieces. Errors: `not_found`. */
  read(name: string): AsyncIterable<Uint8Array>;
  /** Lists the files below a folder in any order. */
  list(folder: string): AsyncIterable<TargetEntry>;
  /** Deletes a file; a missing one is not an error. */
  remove(name: string): Promise<void>;
  /** Creates a file unless it exists. Returns false when it exists. */
  create(name: string, text: string): Promise<boolean>;
  /** Removes unfinished files of interrupted writes. Call it only with the lock of the target. */
  removeUnfinished(): Promise<void>;
}

/** Wraps bytes for `BackupTarget.write`. */
export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes;
}

/** Reads a small file completely. Errors: `not_found`. */
export async function readWhole(target: BackupTarget, name: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of target.read(name)) parts.push(part);
  return Buffer.concat(parts);
}
