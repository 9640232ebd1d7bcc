import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import { chunkBuffers } from './chunk-buffers.ts';
import { ClientDisconnectedError } from './exchange.ts';

/** Callbacks of the server. None is called after `finish` or `fail`. */
export interface BodySource {
  pause(): void;
  resume(): void;
  /** The first read: the server answers `Expect: 100-continue`. Called at most once. */
  onFirstRead(): void;
}

/**
 * Body of one request, between the server, which pushes, and the request pipeline, which reads. A full queue
 * pauses the socket, so a fast client and a slow disk are balanced by kernel buffers instead of process
 * memory. Holds at most `shortBodyQueueBytesMax` plus one chunk; after `lengthen`, `bodyQueueBytesMax` plus
 * one chunk.
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

  /** Whether the server is paused. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether the client has sent the whole body. */
  get isFinished(): boolean {
    return this.#state === 'finished';
  }

  /** Whether further bytes are dropped. */
  get isDiscarding(): boolean {
    return this.#isDiscarding;
  }

  /** Whether the client has sent everything and all of it was read. */
  get isEnded(): boolean {
    return this.#state === 'finished' && this.#chunks.length === 0;
  }

  /** Called by the server. The queue takes ownership of the bytes. */
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

  /** Raises the read-ahead bound, for a reader that stalls at times. */
  lengthen(): void {
    this.#queuedBytesMax = limits.bodyQueueBytesMax;
  }

  /** Called by the server at the end of the body. */
  finish(): void {
    if (this.#state !== 'open') return;
    this.#resume();
    this.#state = 'finished';
    this.#wake();
    this.#onFinished?.();
  }

  /** Called by the server when the client has disconnected. */
  fail(): void {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    this.#drop();
    this.#wake();
    this.#onFinished?.();
  }

  /**
   * Returns the next chunk, or null at the end. One caller at a time. Errors: `request_timeout` when no byte
   * arrives within `idleMsMax`; ClientDisconnectedError.
   */
  async read(idleMsMax: number): Promise<Uint8Array | null> {
    assert(this.#wakeReader === null, 'a body has one reader');
    this.#request();
    // Resume only now: while the reader works on a chunk, each of many concurrent bodies holds no second one.
    if (this.#queuedBytes <= this.#queuedBytesMax / 2) this.#resume();
    if (this.#chunks.length === 0 && this.#state === 'open') await this.#wait(idleMsMax);
    if (this.#state === 'gone' || this.#isDiscarding) throw new ClientDisconnectedError();
    const chunk = this.#chunks.shift();
    if (!chunk) return null;
    this.#queuedBytes -= chunk.byteLength;
    return chunk;
  }

  /**
   * Drops queued and future bytes. A pending `read` belongs to a call that was answered without its body: it
   * rejects with ClientDisconnectedError at once, which frees its memory.
   */
  discard(): void {
    this.#discard(null);
  }

  /**
   * Discards the body after the reply, so that the client can read the reply. Resolves at the end of the body
   * or of the connection, at the latest after `msMax`.
   */
  linger(msMax: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, msMax);
      this.#discard(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #discard(onFinished: (() => void) | null): void {
    this.#isDiscarding = true;
    this.#drop();
    this.#onFinished = onFinished;
    this.#wake();
    if (this.#state === 'open') this.#resume();
    else onFinished?.();
  }

  /**
   * Called for each discarded chunk of a long body. Limits the read rate to `discardBytesPerMsMax`, so that a
   * client that sends endlessly does not delay other requests.
   */
  throttleDiscard(bytes: number): void {
    if (this.#onFinished === null || this.#isPaused || this.#state !== 'open') return;
    this.#isPaused = true;
    this.#source.pause();
    setTimeout(() => this.#resume(), bytes / limits.discardBytesPerMsMax).unref();
  }

  #drop(): void {
    chunkBuffers.release(this.#chunks);
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
        reject(new AppError('request_timeout', `The request body stalled for ${idleMsMax} ms.`));
      }, idleMsMax);
      this.#wakeReader = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
