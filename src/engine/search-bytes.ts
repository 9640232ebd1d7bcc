/** What a search hands to the native library and gets back, as bytes: the formats of native/bridge/values.cc. */
import { addon } from '../addon/addon.ts';

/** How one shard was searched. */
export interface ShardReport {
  readonly shard: number;
  readonly strategy: string;
  /** Rows that the search of the graph kept in view (ef); 0 when it was not searched. */
  readonly effort: number;
  /** Whether that was measured on the collection's own rows; otherwise it is a careful guess, or asked for. */
  readonly calibrated: boolean;
  /** Rows of the shard in the answer. */
  readonly candidates: number;
  /** Of a processor, waiting not counted. */
  readonly ms: number;
}

/** Entry i of every column is one row; the rows are in no particular order. */
export interface IndexHits {
  readonly count: number;
  readonly version: Float64Array;
  /** Row inside the document. */
  readonly chunk: Uint32Array;
  readonly shard: Uint16Array;
  /** Cosine for every row when the query had a vector. */
  readonly similarity: Float32Array;
  /** BM25 for every row; 0 when no term matches. */
  readonly lexical: Float32Array;
  readonly shards: ShardReport[];
  /** Whether some shard followed a graph, which may miss near rows; otherwise all rows were compared. */
  readonly walked: boolean;
  /**
   * What no other row of the collection exceeds, as far as the search can see; when there is no other row, the
   * similarity is below every cosine.
   */
  readonly elsewhere: { readonly lexical: number; readonly similarity: number };
}

export interface PackedQuery {
  readonly terms: readonly { readonly hash: bigint; readonly weight: number; readonly group: number }[];
  readonly vectorCandidates: number;
  readonly lexicalCandidates: number;
  readonly effort: number;
  readonly deadlineMs: number;
}

const headBytes = 24;
const termBytes = 16;

/** One request after the other is written into the same bytes: the native library copies what it keeps. */
class RequestBytes {
  #bytes = new Uint8Array(0);
  #words = new Uint32Array(0);
  #floats = new Float32Array(0);
  #longs = new BigUint64Array(0);

  write(query: PackedQuery): Uint8Array {
    const { terms } = query;
    this.#reserve(headBytes + termBytes * terms.length);
    const words = this.#words;
    words[0] = query.vectorCandidates;
    words[1] = query.lexicalCandidates;
    words[2] = query.effort;
    words[3] = Math.min(query.deadlineMs, 0xffffffff);
    words[4] = terms.length;
    let at = headBytes;
    for (const term of terms) {
      this.#longs[at / 8] = term.hash;
      this.#floats[at / 4 + 2] = term.weight;
      words[at / 4 + 3] = term.group;
      at += termBytes;
    }
    return this.#bytes;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const buffer = new ArrayBuffer(Math.ceil(bytes / 1024) * 1024);
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
    this.#floats = new Float32Array(buffer);
    this.#longs = new BigUint64Array(buffer);
  }
}

const request = new RequestBytes();

/** Valid until the next call. */
export function packQuery(query: PackedQuery): Uint8Array {
  return request.write(query);
}

const replyHeadBytes = 24;
const shardBytes = 20;

/** A view of the reply: the columns are where the native library wrote them. */
export class SearchReply implements IndexHits {
  readonly count: number;
  readonly version: Float64Array;
  readonly chunk: Uint32Array;
  readonly similarity: Float32Array;
  readonly lexical: Float32Array;
  readonly shard: Uint16Array;
  readonly elsewhere: IndexHits['elsewhere'];
  readonly #buffer: ArrayBuffer;

  constructor(buffer: ArrayBuffer) {
    const count = new Uint32Array(buffer, 0, 1)[0]!;
    let at = replyHeadBytes;
    const [similarity, lexical] = new Float32Array(buffer, 12, 2) as unknown as [number, number];
    this.#buffer = buffer;
    this.elsewhere = { lexical, similarity };
    this.count = count;
    this.version = new Float64Array(buffer, at, count);
    at += 8 * count;
    this.chunk = new Uint32Array(buffer, at, count);
    at += 4 * count;
    this.similarity = new Float32Array(buffer, at, count);
    at += 4 * count;
    this.lexical = new Float32Array(buffer, at, count);
    at += 4 * count;
    this.shard = new Uint16Array(buffer, at, count);
  }

  get walked(): boolean {
    const shards = new Uint32Array(this.#buffer, 0, 3)[1]!;
    const view = new DataView(this.#buffer, this.#buffer.byteLength - shards * shardBytes);
    for (let i = 0; i < shards; i += 1) if (view.getUint32(i * shardBytes + 8, true) > 0) return true;
    return false;
  }

  /** Made when asked for: few searches are explained. */
  get shards(): ShardReport[] {
    const [, shards, calibrated] = new Uint32Array(this.#buffer, 0, 3) as unknown as [number, number, number];
    const view = new DataView(this.#buffer, this.#buffer.byteLength - shards * shardBytes);
    return Array.from({ length: shards }, (_, i) => {
      const at = i * shardBytes;
      const effort = view.getUint32(at + 8, true);
      return {
        shard: view.getUint32(at, true),
        strategy: addon.strategies[view.getUint32(at + 4, true)]!,
        effort,
        calibrated: calibrated === 1 && effort > 0,
        candidates: view.getUint32(at + 12, true),
        ms: view.getFloat32(at + 16, true),
      };
    });
  }
}
