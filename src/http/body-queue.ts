import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import { chunkBuffers } from './chunk-buffers.ts';
import { ClientDisconnectedError } from './exchange.ts';

/** What a queue needs of its server. None of them is called after `finish` or `fail`. */
export interface BodySource {
  pause(): void;
  resume(): void;
  /** The body is wanted: answer `Expect: 100-continue`. Called at most once. */
  onFirstRead(): void;
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
  #isPaused = false;
  #isRequested = false;
  #isDiscarding = false;
  #state: 'open' | 'finished' | 'gone' = 'open';
  #wakeReader: (() => void) | null = null;
  #onFinished: (() => void) | null = null;

  /** `declaredBytes` is the content-length, null for a chunked body. */
  constructor(declaredBytes: number | null, source: BodySource) {
    this.declaredBytes = declaredBytes;
    this.#source = source;
    if (declaredBytes === 0) this.#state = 'finished';
  }

  /** True while the server has been told to read no more. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** True when the client has sent everything. */
  get isFinished(): boolean {
    return this.#state === 'finished';
  }

  /** True when nothing that comes is kept anymore. */
  get isDiscarding(): boolean {
    return this.#isDiscarding;
  }

  /** True when there is nothing left to take. */
  get isEnded(): boolean {
    return this.#state === 'finished' && this.#chunks.length === 0;
  }

  /** The server hands in bytes; they become the queue's own. */
  push(chunk: Uint8Array): void {
    if (this.#state !== 'open' || chunk.byteLength === 0) return;
    if (this.#isDiscarding) {
      this.throttleDiscard(chunk.byteLength);
      return;
    }
    this.#chunks.push(chunk);
    this.#queuedBytes += chunk.byteLength;
    if (this.#queuedBytes >= this.#queuedBytesMax && !this.#isPaused) {
      this.#isPaused = true;
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
    if (this.#state !== 'open') return;
    this.#resume();
    this.#state = 'finished';
    this.#wake();
    this.#onFinished?.();
  }

  /** The server lost the client. */
  fail(): void {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    this.#drop();
    this.#wake();
    this.#onFinished?.();
  }

  /**
   * The next bytes, or null at the end. Errors: `request_timeout` when none comes within `idleMsMax`; ClientGone.
   * One caller at a time.
   */
  async read(idleMsMax: number): Promise<Uint8Array | null> {
    assert(this.#wakeReader === null, 'one reader takes from a body');
    this.#request();
    // Not before: while the reader works on a chunk, a body of many holds no second one.
    if (this.#queuedBytes <= this.#queuedBytesMax / 2) this.#resume();
    if (this.#chunks.length === 0 && this.#state === 'open') await this.#wait(idleMsMax);
    if (this.#state === 'gone' || this.#isDiscarding) throw new ClientDisconnectedError();
    const chunk = this.#chunks.shift();
    if (!chunk) return null;
    this.#queuedBytes -= chunk.byteLength;
    return chunk;
  }

  /**
   * Drops what is there and what still comes; `finished` is called at the end of the body or of the connection. A call
   * that waits in `take` was answered without its body: it ends with ClientGone at once, and what it holds is free.
   */
  discard(onFinished: (() => void) | null = null): void {
    this.#isDiscarding = true;
    this.#drop();
    this.#onFinished = onFinished;
    this.#wake();
    if (this.#state === 'open') this.#resume();
    else onFinished?.();
  }

  /**
   * To be called for each chunk that is discarded of a long body: a client that sends on without end is read slowly, so
   * that the requests of others do not wait for what nobody wants.
   */
  throttleDiscard(bytes: number): void {
    if (this.#onFinished === null || this.#isPaused || this.#state !== 'open') return;
    this.#isPaused = true;
    this.#source.pause();
    setTimeout(() => this.#resume(), bytes / limits.discardBytesPerMsMax).unref();
  }

  #drop(): void {
    chunkBuffers.giveBack(this.#chunks);
    this.#chunks = [];
    this.#queuedBytes = 0;
  }

  #request(): void {
    if (this.#isRequested || this.#state !== 'open') return;
    this.#isRequested = true;
    this.#source.onFirstRead();
  }

  #resume(): void {
    if (!this.#isPaused || this.#state !== 'open') return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #wake(): void {
    const wakeReader = this.#wakeReader;
    this.#wakeReader = null;
    wakeReader?.();
  }

  #wait(idleMsMax: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#wakeReader = null;
        reject(new AppError('request_timeout', `No byte of the request body arrived for ${idleMsMax} ms.`));
      }, idleMsMax);
      this.#wakeReader = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
