import { AppError } from '../base/app-error.ts';
import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import { chunkBuffers } from './chunk-buffers.ts';
import { ClientGone } from './exchange.ts';

/** What a queue needs of its server. None of them is called after `finish` or `fail`. */
export interface BodySource {
  pause(): void;
  resume(): void;
  /** The body is wanted: answer `Expect: 100-continue`. Called at most once. */
  wanted(): void;
}

/**
 * The body of one request between its server, which pushes, and the corridor, which takes. A full queue pauses the
 * socket, so that a fast client and a slow disk meet in the kernel and not in our memory. It holds at most
 * `shortBodyQueueBytesMax` plus one chunk, after `lengthen` `bodyQueueBytesMax` plus one.
 */
export class BodyQueue {
  readonly declaredBytes: number | null;
  readonly #source: BodySource;
  #chunks: Uint8Array[] = [];
  #queuedBytes = 0;
  #queuedBytesMax: number = limits.shortBodyQueueBytesMax;
  #paused = false;
  #asked = false;
  #discarding = false;
  #end: 'open' | 'finished' | 'gone' = 'open';
  #waiting: (() => void) | null = null;
  #onFinished: (() => void) | null = null;

  /** `declaredBytes` is the content-length, null for a chunked body. */
  constructor(declaredBytes: number | null, source: BodySource) {
    this.declaredBytes = declaredBytes;
    this.#source = source;
    if (declaredBytes === 0) this.#end = 'finished';
  }

  /** True while the server has been told to read no more. */
  get paused(): boolean {
    return this.#paused;
  }

  /** True when the client has sent everything. */
  get finished(): boolean {
    return this.#end === 'finished';
  }

  /** True when nothing that comes is kept anymore. */
  get discarding(): boolean {
    return this.#discarding;
  }

  /** True when there is nothing left to take. */
  get ended(): boolean {
    return this.#end === 'finished' && this.#chunks.length === 0;
  }

  /** The server hands in bytes; they become the queue's own. */
  push(chunk: Uint8Array): void {
    if (this.#end !== 'open' || chunk.byteLength === 0) return;
    if (this.#discarding) {
      this.paceDiscard(chunk.byteLength);
      return;
    }
    this.#chunks.push(chunk);
    this.#queuedBytes += chunk.byteLength;
    if (this.#queuedBytes >= this.#queuedBytesMax && !this.#paused) {
      this.#paused = true;
      this.#source.pause();
    }
    this.#wake();
  }

  /** Reads ahead, for a reader that is slow now and then. */
  lengthen(): void {
    this.#queuedBytesMax = limits.bodyQueueBytesMax;
  }

  /** The server saw the end of the body. */
  finish(): void {
    if (this.#end !== 'open') return;
    this.#resume();
    this.#end = 'finished';
    this.#wake();
    this.#onFinished?.();
  }

  /** The server lost the client. */
  fail(): void {
    if (this.#end === 'gone') return;
    this.#end = 'gone';
    this.#drop();
    this.#wake();
    this.#onFinished?.();
  }

  /**
   * The next bytes, or null at the end. Errors: `request_timeout` when none comes within `idleMsMax`; ClientGone.
   * One caller at a time.
   */
  async take(idleMsMax: number): Promise<Uint8Array | null> {
    assert(this.#waiting === null, 'one reader takes from a body');
    this.#ask();
    // Not before: while the reader works on a chunk, a body of many holds no second one.
    if (this.#queuedBytes <= this.#queuedBytesMax / 2) this.#resume();
    if (this.#chunks.length === 0 && this.#end === 'open') await this.#wait(idleMsMax);
    if (this.#end === 'gone' || this.#discarding) throw new ClientGone();
    const chunk = this.#chunks.shift();
    if (!chunk) return null;
    this.#queuedBytes -= chunk.byteLength;
    return chunk;
  }

  /**
   * Drops what is there and what still comes; `finished` is called at the end of the body or of the connection. A call
   * that waits in `take` was answered without its body: it ends with ClientGone at once, and what it holds is free.
   */
  discard(finished: (() => void) | null = null): void {
    this.#discarding = true;
    this.#drop();
    this.#onFinished = finished;
    this.#wake();
    if (this.#end === 'open') this.#resume();
    else finished?.();
  }

  /**
   * To be called for each chunk that is discarded of a long body: a client that sends on without end is read slowly, so
   * that the requests of others do not wait for what nobody wants.
   */
  paceDiscard(bytes: number): void {
    if (this.#onFinished === null || this.#paused || this.#end !== 'open') return;
    this.#paused = true;
    this.#source.pause();
    setTimeout(() => this.#resume(), bytes / limits.discardBytesPerMsMax).unref();
  }

  #drop(): void {
    chunkBuffers.giveBack(this.#chunks);
    this.#chunks = [];
    this.#queuedBytes = 0;
  }

  #ask(): void {
    if (this.#asked || this.#end !== 'open') return;
    this.#asked = true;
    this.#source.wanted();
  }

  #resume(): void {
    if (!this.#paused || this.#end !== 'open') return;
    this.#paused = false;
    this.#source.resume();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.();
  }

  #wait(idleMsMax: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = null;
        reject(new AppError('request_timeout', `No byte of the request body arrived for ${idleMsMax} ms.`));
      }, idleMsMax);
      this.#waiting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
