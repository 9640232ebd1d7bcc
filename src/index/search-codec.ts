/**
 * Encodes search requests for the native library and decodes its replies: the byte formats of
 * native/bridge/values.cc.
 */
import { addon, type NativeReply } from './addon.ts';

/** Describes how one shard was searched. */
export interface ShardReport {
  readonly shard: number;
  readonly strategy: string;
  /** Size of the candidate list of the graph search (ef); 0 when the graph was not searched. */
  readonly effort: number;
  /**
   * Whether ef was calibrated on the rows of the collection; otherwise it is a conservative estimate or was
   * given by the caller.
   */
  readonly calibrated: boolean;
  /** Number of rows of this shard in the reply. */
  readonly candidates: number;
  /** Processor time, without waiting. */
  readonly ms: number;
}

/** Hits as columns: entry i of every column belongs to one row. The rows are in no particular order. */
export interface IndexHits {
  readonly count: number;
  readonly version: Float64Array;
  /** Index of the row in its document. */
  readonly chunk: Uint32Array;
  readonly shard: Uint16Array;
  /** Cosine for every row when the query had a vector. */
  readonly similarity: Float32Array;
  /** BM25 for every row; 0 when no term matches. */
  readonly lexical: Float32Array;
  readonly shards: ShardReport[];
}

export interface NativeQuery {
  readonly terms: readonly { readonly hash: bigint; readonly weight: number; readonly group: number }[];
  readonly vectorCandidates: number;
  readonly lexicalCandidates: number;
  readonly ef?: number;
  readonly deadlineMs: number;
}

const headBytes = 24;
const termBytes = 16;

/** Writes all requests into one buffer: the native library copies the data it keeps. */
class RequestEncoder {
  #bytes = new Uint8Array(0);
  #words = new Uint32Array(0);
  #floats = new Float32Array(0);
  #longs = new BigUint64Array(0);

  encode(query: NativeQuery, ticket: number): Uint8Array {
    const { terms } = query;
    this.#reserve(headBytes + termBytes * terms.length);
    const words = this.#words;
    words[0] = query.vectorCandidates;
    words[1] = query.lexicalCandidates;
    words[2] = query.ef ?? 0;
    words[3] = Math.min(Math.ceil(query.deadlineMs), 0xffffffff);
    words[4] = terms.length;
    words[5] = ticket;
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

const requestEncoder = new RequestEncoder();

/** Encodes a request; the result is valid until the next call. `ticket` is below 2^32. */
export function encodeQuery(query: NativeQuery, ticket: number): Uint8Array {
  return requestEncoder.encode(query, ticket);
}

/** Encodes only the terms, for calls that need nothing else. */
export function encodeTerms(terms: NativeQuery['terms']): Uint8Array {
  return requestEncoder.encode({ terms, vectorCandidates: 0, lexicalCandidates: 0, deadlineMs: 0 }, 0);
}

const replyHeadBytes = 16;
const shardWords = 5;

/** Buffer of consecutive replies, as written by the native library. */
class ReplyPage {
  readonly buffer: ArrayBuffer;
  readonly words: Uint32Array;

  constructor(buffer: ArrayBuffer) {
    this.buffer = buffer;
    this.words = new Uint32Array(buffer);
  }
}

let lastPage = new ReplyPage(new ArrayBuffer(0));

/** Decodes a reply without copying: its columns are views of the reply buffer and keep the buffer alive. */
export function decodeReply(reply: NativeReply): SearchReply {
  if (typeof reply === 'number') return new SearchReply(lastPage, reply);
  lastPage = new ReplyPage(reply);
  return new SearchReply(lastPage, 0);
}

export class SearchReply implements IndexHits {
  readonly count: number;
  readonly version: Float64Array;
  readonly chunk: Uint32Array;
  readonly similarity: Float32Array;
  readonly lexical: Float32Array;
  readonly #page: ReplyPage;
  readonly #start: number;
  readonly #shardColumn: number;

  constructor(page: ReplyPage, start: number) {
    const { buffer, words } = page;
    const count = words[start / 4]!;
    let at = start + replyHeadBytes;
    this.#page = page;
    this.#start = start;
    this.count = count;
    this.version = new Float64Array(buffer, at, count);
    at += 8 * count;
    this.chunk = new Uint32Array(buffer, at, count);
    at += 4 * count;
    this.similarity = new Float32Array(buffer, at, count);
    at += 4 * count;
    this.lexical = new Float32Array(buffer, at, count);
    at += 4 * count;
    this.#shardColumn = at;
  }

  /** Created on access, like the reports: few searches are explained. */
  get shard(): Uint16Array {
    return new Uint16Array(this.#page.buffer, this.#shardColumn, this.count);
  }

  get shards(): ShardReport[] {
    const { buffer, words } = this.#page;
    return decodeShardReports(buffer, {
      at: Math.ceil((this.#shardColumn + 2 * this.count) / 4) * 4,
      count: words[this.#start / 4 + 1]!,
      calibrated: words[this.#start / 4 + 2] === 1,
    });
  }
}

/** Decodes `count` shard reports from byte `at` on. */
export function decodeShardReports(
  buffer: ArrayBuffer,
  { at, count, calibrated }: { readonly at: number; readonly count: number; readonly calibrated: boolean },
): ShardReport[] {
  const words = new Uint32Array(buffer, at, count * shardWords);
  const floats = new Float32Array(buffer, at, count * shardWords);
  return Array.from({ length: count }, (_, i) => {
    const first = i * shardWords;
    const effort = words[first + 2]!;
    return {
      shard: words[first]!,
      strategy: addon.strategies[words[first + 1]!]!,
      effort,
      calibrated: calibrated && effort > 0,
      candidates: words[first + 3]!,
      ms: floats[first + 4]!,
    };
  });
}
