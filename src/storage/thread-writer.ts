import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { assert } from '../core/assert.ts';
import { compiledRoot } from '../core/root.ts';
import type { JournalAppend } from './journal-file.ts';

/** Makes groups durable, one at a time. Injected into the store, so that tests can simulate disk failures. */
export interface GroupWriter {
  /** Resolves when the group is durable and visible. Transfers the block. `record`: for the journal, if there is one. */
  write(group: ArrayBuffer, record?: JournalAppend): Promise<void>;
  /** Ends the thread after the running write. Idempotent. */
  stop(): Promise<void>;
}

export interface WriterRequest {
  readonly id: number;
  readonly group: ArrayBuffer;
  readonly record: JournalAppend | null;
}

export interface WriterReply {
  readonly id: number;
  readonly error: string | null;
}

interface PendingGroup {
  readonly id: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Settings of the thread. */
export interface WriterSettings {
  readonly handle: bigint;
  /** False: a group is not fsynced, for a database that can be restored from elsewhere. */
  readonly sync: boolean;
}

/** A writer on a separate thread that shares the open database through its handle. */
export class ThreadWriter implements GroupWriter {
  readonly #settings: WriterSettings;
  #worker: Worker | null = null;
  #pending: PendingGroup | null = null;
  /** Settles with the running write; never rejects. */
  #running: Promise<void> = Promise.resolve();
  #lastId = 0;
  #isStopped = false;

  constructor(handle: bigint, { sync = true }: { readonly sync?: boolean } = {}) {
    this.#settings = { handle, sync };
  }

  write(group: ArrayBuffer, record?: JournalAppend): Promise<void> {
    assert(this.#pending === null, 'the writer handles one group at a time');
    assert(!this.#isStopped, 'the writer is not stopped');
    this.#worker ??= this.#start();
    this.#lastId += 1;
    const id = this.#lastId;
    const written = new Promise<void>((resolve, reject) => {
      this.#pending = { id, resolve, reject };
    });
    this.#running = written.catch(() => {});
    this.#worker.postMessage({ id, group, record: record ?? null } satisfies WriterRequest, [group]);
    return written;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(join(compiledRoot, 'src/storage/writer-thread.js'), {
      workerData: this.#settings,
      // The loaders and hooks of the main thread would only slow its start.
      execArgv: [],
    });
    worker.on('message', (reply: WriterReply) => {
      const pending = this.#pending;
      assert(pending !== null && pending.id === reply.id, 'the reply belongs to the pending group');
      this.#pending = null;
      if (reply.error === null) pending.resolve();
      else pending.reject(new Error(reply.error));
    });
    worker.on('error', (error) =>
      this.#onThreadEnd(worker, error instanceof Error ? error : new Error(String(error))),
    );
    worker.on('exit', () => this.#onThreadEnd(worker, new Error('the writer thread exited')));
    return worker;
  }

  /**
   * Rejects the running group, whose outcome is unknown here; the store determines it. The next write starts
   * a new thread.
   */
  #onThreadEnd(worker: Worker, error: Error): void {
    if (this.#worker === worker) this.#worker = null;
    const pending = this.#pending;
    this.#pending = null;
    pending?.reject(error);
  }
}
