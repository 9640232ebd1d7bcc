/** What a search hands to the native library and gets back, as bytes: the formats of native/bridge/values.cc. */
import { addon, type NativeReply } from './addon.ts';

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

/** One request after the other is written into the same bytes: the native library copies what it keeps. */
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

/** Valid until the next call. `ticket` is below 2^32. */
export function encodeQuery(query: NativeQuery, ticket: number): Uint8Array {
  return requestEncoder.encode(query, ticket);
}

/** The terms alone, for who asks nothing else of them. */
export function encodeTerms(terms: NativeQuery['terms']): Uint8Array {
  return requestEncoder.encode({ terms, vectorCandidates: 0, lexicalCandidates: 0, deadlineMs: 0 }, 0);
}

const replyHeadBytes = 16;
const shardWords = 5;

/** Replies one behind the other, as the native library wrote them. */
class ReplyPage {
  readonly buffer: ArrayBuffer;
  readonly words: Uint32Array;
  readonly floats: Float32Array;

  constructor(buffer: ArrayBuffer) {
    this.buffer = buffer;
    this.words = new Uint32Array(buffer);
    this.floats = new Float32Array(buffer);
  }
}

let lastPage = new ReplyPage(new ArrayBuffer(0));

/** The columns of the reply are where the native library wrote them; who keeps one keeps its page. */
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

  /** Made when asked for, as the reports: few searches are explained. */
  get shard(): Uint16Array {
    return new Uint16Array(this.#page.buffer, this.#shardColumn, this.count);
  }

  get shards(): ShardReport[] {
    const { words, floats } = this.#page;
    const calibrated = words[this.#start / 4 + 2] === 1;
    return this.#shardOffsets().map((at) => {
      const effort = words[at + 2]!;
      return {
        shard: words[at]!,
        strategy: addon.strategies[words[at + 1]!]!,
        effort,
        calibrated: calibrated && effort > 0,
        candidates: words[at + 3]!,
        ms: floats[at + 4]!,
      };
    });
  }

  /** Where the page has what it says of each shard, in words. */
  #shardOffsets(): number[] {
    const shards = this.#page.words[this.#start / 4 + 1]!;
    const first = Math.ceil((this.#shardColumn + 2 * this.count) / 4);
    return Array.from({ length: shards }, (_, i) => first + i * shardWords);
  }
}
