import type { TagFilter } from '../vectors/tags.ts';

/**
 * What the case `engine` asks of every engine, ours and the others' alike. One engine lives in one process of its own,
 * so that its memory and its CPU time are its own. All search by inner product over unit vectors: cosine.
 */
export interface VectorEngine {
  /** Rows `first`, `first + 1`, ...: one after the other in `vectors`, each with its byte of tags. */
  add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void>;
  /** After the last `add`: builds what is built afterwards and waits for what runs in the background. */
  finish(): Promise<void>;
  /** Row numbers of the `count` nearest rows that pass the filter, best first. */
  search(search: EngineSearch): Promise<ArrayLike<number>> | ArrayLike<number>;
  /** Replaces rows by new ones with the same vectors and tags, as an update of their documents would; null: cannot. */
  readonly replace:
    | ((rows: readonly number[], vectors: Float32Array, tags: Uint8Array) => Promise<void>)
    | null;
  /** Writes what `open` with `load` needs into its directory; null: the engine keeps nothing, or always has. */
  readonly save: (() => Promise<void>) | null;
  /** What the engine says about its own memory, in bytes by part; null when it says nothing. */
  bytesByPart(): Record<string, number> | null;
  /** A process of its own that does the work; null when this process does. */
  readonly serverPid: number | null;
  close(): Promise<void>;
}

export interface EngineSearch {
  readonly query: QueryVector;
  readonly count: number;
  /** Rows a graph search keeps in view (ef, expansion, probes); the more, the more it finds. */
  readonly ef: number;
  readonly filter: TagFilter | null;
}

/** One question in the two forms that engines take, made before the clock runs. */
export interface QueryVector {
  readonly vector: Float32Array;
  readonly numbers: readonly number[];
}

export interface EngineOptions {
  readonly dimensions: number;
  /** Rows that will be there at once; a replaced one leaves its place first. */
  readonly rows: number;
  readonly directory: string;
  /** Opens what `save` wrote into the directory. */
  readonly load: boolean;
  /** Address of a server that runs already, for engines that need one. */
  readonly url: string | null;
}

/** Graph parameters that all graph engines are built with. */
export const graphParameters = { connections: 16, efConstruction: 200 } as const;

export interface EngineKind {
  readonly name: string;
  /** Least and most effort that make sense; null: it searches exactly, whatever the effort. */
  readonly efRange: { readonly min: number; readonly max: number } | null;
  readonly filters: boolean;
  /** Answers one call at a time on the calling thread, so that several under way mean nothing. */
  readonly synchronous: boolean;
  /** What it is, for the report: package and version. Throws when it is not installed. */
  version(): string;
  open(options: EngineOptions): Promise<VectorEngine>;
}
