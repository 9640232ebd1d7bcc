import type { TagFilter } from '../vectors/tags.ts';

/**
 * Interface of the case `engine` to every engine, Quarry's own included. Each engine runs in its own process,
 * so that its memory and CPU time are measured separately. All search by inner product over unit vectors,
 * that is, by cosine.
 */
export interface VectorEngine {
  /** Adds rows `first`, `first + 1`, ...: concatenated in `vectors`, each with its byte of tags. */
  add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void>;
  /** Called after the last `add`. Builds the index if needed and waits for background work. */
  finish(): Promise<void>;
  /** Returns row numbers of the `count` nearest rows that pass the filter, best first. */
  search(search: EngineSearch): Promise<ArrayLike<number>> | ArrayLike<number>;
  /**
   * Replaces rows by new ones with the same vectors and tags, like an update of their documents; null:
   * unsupported.
   */
  readonly replace:
    | ((rows: readonly number[], vectors: Float32Array, tags: Uint8Array) => Promise<void>)
    | null;
  /**
   * Writes the files that `open` with `load` needs into the directory; null: the engine is not persistent, or
   * always persisted.
   */
  readonly save: (() => Promise<void>) | null;
  /** Returns the memory that the engine reports, in bytes by part; null if it reports none. */
  bytesByPart(): Record<string, number> | null;
  /** Id of a separate process that does the work; null if this process does. */
  readonly serverPid: number | null;
  close(): Promise<void>;
}

export interface EngineSearch {
  readonly query: QueryVector;
  readonly count: number;
  /** Candidates that a graph search keeps (ef, expansion, probes); a higher value increases recall. */
  readonly ef: number;
  readonly filter: TagFilter | null;
}

/** One query in the two representations that engines take, created before the measurement. */
export interface QueryVector {
  readonly vector: Float32Array;
  readonly numbers: readonly number[];
}

export interface EngineOptions {
  readonly dimensions: number;
  /** Maximum number of rows at the same time; a replacement deletes the old row first. */
  readonly rows: number;
  readonly directory: string;
  /** Opens the files that `save` wrote into the directory. */
  readonly load: boolean;
  /** URL of a running server, for engines that need one. */
  readonly url: string | null;
}

/** Graph parameters of all graph engines. */
export const graphParameters = { connections: 16, efConstruction: 200 } as const;

export interface EngineKind {
  readonly name: string;
  /** Useful range of ef; null: the search is exact for every ef. */
  readonly efRange: { readonly min: number; readonly max: number } | null;
  readonly filters: boolean;
  /** Whether calls run one at a time on the calling thread, so that concurrent calls have no effect. */
  readonly synchronous: boolean;
  /** Returns package and version for the report. Errors: throws if it is not installed. */
  version(): string;
  open(options: EngineOptions): Promise<VectorEngine>;
}
