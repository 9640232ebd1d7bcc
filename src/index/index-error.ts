const indexErrorCodes = [
  'busy', // too much work is waiting; retry later
  'deadline', // the search exceeded its deadline
  'canceled', // the caller canceled the search
  'closed', // the collection was closed or dropped
  'unstaged', // a commit names a version that is not staged
  'sequence', // a commit has a lower sequence than its shard
  'invalid', // malformed rows, terms or numbers
  'conflict', // open elsewhere with other dimensions, shards or directory
  'damaged', // the file of a shard was truncated or is unreadable
  'io', // a file operation failed in the operating system
  'memory', // out of memory
] as const;
type IndexErrorCode = (typeof indexErrorCodes)[number];

/** Error of the index, with a code to branch on. The caller decides whether to report it to the user. */
export class IndexError extends Error {
  override readonly name = 'IndexError';
  readonly code: IndexErrorCode;

  constructor(code: IndexErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

function isIndexErrorCode(code: unknown): code is IndexErrorCode {
  return (indexErrorCodes as readonly unknown[]).includes(code);
}

/** Converts an error of the addon to an `IndexError`; returns any other error, which is a bug, unchanged. */
export function toIndexError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !isIndexErrorCode(error.code)) return error;
  return new IndexError(error.code, error.message, { cause: error });
}
