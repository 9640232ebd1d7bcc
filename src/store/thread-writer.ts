import { Worker } from 'node:worker_threads';
import { assert } from '../base/assert.ts';

/** Makes groups durable, one at a time. Handed to the store, so that tests can make a disk fail. */
export interface GroupWriter {
  /** Resolves when the group is fsynced and visible. Takes the block over. */
  write(group: ArrayBuffer): Promise<void>;
  /** Ends the thread after the write that runs. Idempotent. */
  stop(): Promise<void>;
}

export interface WriterRequest {
  readonly id: number;
  readonly group: ArrayBuffer;
}

export interface WriterReply {
  readonly id: number;
  readonly error: string | null;
}

interface Waiting {
  readonly id: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A writer on a thread of its own that shares the open database through its handle. */
export class ThreadWriter implements GroupWriter {
  readonly #handle: bigint;
  #worker: Worker | null = null;
  #waiting: Waiting | null = null;
  #lastId = 0;
  #stopped = false;

  constructor(handle: bigint) {
    this.#handle = handle;
  }

  write(group: ArrayBuffer): Promise<void> {
    assert(this.#waiting === null, 'the writer gets one group at a time');
    assert(!this.#stopped, 'a stopped writer gets nothing more');
    this.#worker ??= this.#start();
    this.#lastId += 1;
    const id = this.#lastId;
    const written = new Promise<void>((resolve, reject) => {
      this.#waiting = { id, resolve, reject };
    });
    this.#worker.postMessage({ id, group } satisfies WriterRequest, [group]);
    return written;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./writer-thread.js', import.meta.url), {
      workerData: { handle: this.#handle },
      // Loaders and hooks of the main thread only slow this one's start.
      execArgv: [],
    });
    worker.on('message', (reply: WriterReply) => {
      const waiting = this.#waiting;
      assert(waiting !== null && waiting.id === reply.id, 'the writer answers what it was asked');
      this.#waiting = null;
      if (reply.error === null) waiting.resolve();
      else waiting.reject(new Error(reply.error));
    });
    worker.on('error', (error) =>
      this.#ended(worker, error instanceof Error ? error : new Error(String(error))),
    );
    worker.on('exit', () => this.#ended(worker, new Error('the writer thread ended')));
    return worker;
  }

  /** The next write starts a new thread; what was running is unknown to us, and the store finds out. */
  #ended(worker: Worker, error: Error): void {
    if (this.#worker === worker) this.#worker = null;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.reject(error);
  }
}
