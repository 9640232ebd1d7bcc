/** Replies that the native library writes as JSON: the byte formats of native/bridge/replies.cc. */
import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import { decodeShardReports, type ShardReport } from './search-codec.ts';

/** Kinds of results, in the order of the numbers in native/bridge/replies.h. */
const replyUnits = ['snippets', 'documents', 'pages', 'pages-with-content', 'fine-snippets'] as const;
export type ReplyUnit = (typeof replyUnits)[number];

/** How a reply is written. */
export interface ReplySpec {
  readonly unit: ReplyUnit;
  /** Maximum number of results. */
  readonly results: number;
  readonly weights: { readonly lexical: number; readonly vector: number };
  /** Number of the collection; see `NativeReplies`. */
  readonly collection: number;
  /** Number of the start of the URLs; see `NativeDocumentParts`. */
  readonly baseUrl: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Null unless the results are fine snippets. */
  readonly fine: FineSpec | null;
}

/** How fine chunks are scored; see `NativeFineQuery`. */
export interface FineSpec {
  /** Number of coarse chunks whose fine chunks are scored. */
  readonly parents: number;
  readonly parentWeight: number;
  readonly neighborWeight: number;
  /** Generation of the vectors of the collection. */
  readonly generation: number;
  readonly words: Uint32Array;
}

/** Written again by each call: the native library copies the numbers. */
const specNumbers = new Float64Array(11);

/** Encodes a specification; the result is valid until the next call. */
export function encodeReplySpec({
  unit,
  results,
  weights,
  collection,
  baseUrl,
  now,
  fine,
}: ReplySpec): Float64Array {
  specNumbers[0] = replyUnits.indexOf(unit);
  specNumbers[1] = results;
  specNumbers[2] = weights.lexical;
  specNumbers[3] = weights.vector;
  specNumbers[4] = collection;
  specNumbers[5] = baseUrl;
  specNumbers[6] = now;
  specNumbers[7] = fine?.parents ?? 0;
  specNumbers[8] = fine?.parentWeight ?? 0;
  specNumbers[9] = fine?.neighborWeight ?? 0;
  specNumbers[10] = fine?.generation ?? 0;
  return specNumbers;
}

/** Maximum number of buffers kept for later replies. */
const idleBuffersMax = 32;
const idleBuffers: ArrayBuffer[] = [];

/**
 * Returns a buffer for one reply. Buffers are reused, because one buffer per reply would fill off-heap memory so fast that
 * garbage collection takes as long as the query. A buffer that is not put back is garbage.
 */
export function takeReplyBuffer(): ArrayBuffer {
  return idleBuffers.pop() ?? new ArrayBuffer(limits.bufferedReplyBytesMax);
}

export function putBackReplyBuffer(buffer: ArrayBuffer): void {
  if (idleBuffers.length < idleBuffersMax) idleBuffers.push(buffer);
}

const headBytes = 16;
const shardBytes = 20;

/** A reply of a query, written into a buffer that `release` puts back. */
export class WrittenReply {
  /** Number of results in the reply. */
  readonly results: number;
  /** Valid until `release`. */
  readonly json: Uint8Array;
  #buffer: ArrayBuffer | null;

  constructor(buffer: ArrayBuffer) {
    const [bytes, results, shards] = new Uint32Array(buffer, 0, headBytes / 4);
    this.#buffer = buffer;
    this.results = results!;
    this.json = new Uint8Array(buffer, headBytes + shards! * shardBytes, bytes);
  }

  /** Describes how the shards were searched. Valid until `release`. */
  get shards(): ShardReport[] {
    assert(this.#buffer !== null, 'the reply has not been released');
    const words = new Uint32Array(this.#buffer, 0, headBytes / 4);
    return decodeShardReports(this.#buffer, { at: headBytes, count: words[2]!, calibrated: words[3] === 1 });
  }

  /** Nothing of the reply may be used afterwards. */
  release(): void {
    assert(this.#buffer !== null, 'a reply is released once');
    putBackReplyBuffer(this.#buffer);
    this.#buffer = null;
  }
}
