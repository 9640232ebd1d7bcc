const indexErrorCodes = [
  'busy', // too much is waiting: try again later
  'deadline', // the search ran out of time
  'cancelled', // its caller is gone
  'closed', // the collection was closed or dropped
  'unstaged', // a commit names a version that is not staged
  'sequence', // a commit is older than its shard
  'invalid', // malformed rows, terms or numbers
  'conflict', // open elsewhere with other dimensions, shards or directory
  'damaged', // the file of a shard was cut off or cannot be read any more
  'io', // the operating system refused a file
  'memory', // there is no memory
] as const;
type IndexErrorCode = (typeof indexErrorCodes)[number];

/** Trouble of the index with a code to decide by. Whether it is the user's is for the caller to say. */
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

/** The error of the addon as an IndexError; anything else is our own mistake and stays what it is. */
export function toIndexError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !isIndexErrorCode(error.code)) return error;
  return new IndexError(error.code, error.message, { cause: error });
}
