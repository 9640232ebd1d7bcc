import { assert } from '../core/assert.ts';
import { tables, u53 } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Steps of the pipeline for a version; each step restarts from its beginning after a crash. */
export const jobSteps = ['parse', 'chunk', 'index'] as const;
export type JobStep = (typeof jobSteps)[number];

/** Unfinished work on one version of a document. */
export interface Job {
  readonly version: number;
  readonly organizationId: string;
  readonly collectionId: string;
  readonly path: string;
  readonly documentId: string;
  readonly step: JobStep;
  readonly attempts: number;
  /** Milliseconds since the epoch before which the job must not run. */
  readonly notBefore: number;
  readonly createdAt: number;
}

const jobsTable = new Table<readonly [version: number], Job>(tables.jobs, [u53]);

export function putJob(job: Job): WriteOperation {
  return jobsTable.put([job.version], job);
}

export function deleteJob(version: number): WriteOperation {
  return jobsTable.delete([version]);
}

/**
 * Bounds of an organization's turn while others wait. One job per turn is the fairest; more reduce the cost
 * of switching.
 */
export interface TurnLimits {
  readonly jobsMax: number;
  /** Milliseconds after which a turn ends with the current job. */
  readonly msMax: number;
}

const oneJobPerTurn: TurnLimits = { jobsMax: 1, msMax: 0 };

/**
 * Queue of the next jobs. The durable state are the records that `putJob` and `deleteJob` write with the
 * documents; this queue is an in-memory order over them. A job is offered after its write is acknowledged,
 * claimed by one worker, and then offered again (next step, retry) or completed. After a restart `open`
 * offers all unfinished jobs.
 *
 * Organizations take turns, so that a large import of one does not delay the documents of another; within an
 * organization the oldest version comes first.
 */
export class JobQueue {
  readonly #rotation: OrganizationQueue[] = [];
  readonly #queues = new Map<string, OrganizationQueue>();
  readonly #delayed: Job[] = [];
  readonly #claimed = new Map<number, Job>();
  readonly #limits: TurnLimits;
  /** Organization that currently has its turn. */
  #currentTurn = { organizationId: '', startedAt: 0, jobs: 0 };
  #waiting = 0;

  constructor(limits: TurnLimits = oneJobPerTurn) {
    this.#limits = limits;
  }

  /** Opens a queue with all unfinished jobs of the store that `matches` accepts. */
  static async open(
    store: Store,
    matches: (job: Job) => boolean = () => true,
    turnLimits: TurnLimits = oneJobPerTurn,
  ): Promise<JobQueue> {
    const queue = new JobQueue(turnLimits);
    for await (const { value } of jobsTable.range(store, [])) if (matches(value)) queue.offer(value);
    return queue;
  }

  /** Number of waiting jobs, due or not, without claimed ones. */
  get waiting(): number {
    return this.#waiting + this.#delayed.length;
  }

  get claimed(): number {
    return this.#claimed.size;
  }

  /** Makes a job claimable; also returns a claimed one with its new step or time. */
  offer(job: Job): void {
    this.#claimed.delete(job.version);
    if (job.notBefore > 0) {
      const position = this.#delayed.findLastIndex((other) => other.notBefore <= job.notBefore);
      this.#delayed.splice(position + 1, 0, job);
      return;
    }
    this.#enqueue(job);
  }

  /** Makes the matching delayed jobs due now, in the order in which they would have become due. */
  makeDue(matches: (job: Job) => boolean): void {
    const due = this.#delayed.filter(matches);
    if (due.length === 0) return;
    const rest = this.#delayed.filter((job) => !matches(job));
    this.#delayed.splice(0, this.#delayed.length);
    for (const job of rest) this.#delayed.push(job);
    for (const job of due) this.#enqueue(job);
  }

  /** Returns the next job due at `now` (milliseconds since the epoch), or null. */
  claim(now: number): Job | null {
    this.#enqueueDue(now);
    const queue = this.#rotation.shift();
    if (queue === undefined) return null;
    const job = queue.take();
    if (queue.size > 0) this.#requeue(queue, now);
    else this.#queues.delete(queue.organizationId);
    this.#waiting -= 1;
    this.#claimed.set(job.version, job);
    return job;
  }

  /** Ends a claim after the record of the job was deleted. */
  complete(version: number): void {
    assert(this.#claimed.delete(version), 'only a claimed job is settled');
  }

  /** Returns when the earliest delayed job is due, in milliseconds since the epoch; null if there is none. */
  nextDue(): number | null {
    return this.#delayed[0]?.notBefore ?? null;
  }

  #enqueueDue(now: number): void {
    while (this.#delayed[0] !== undefined && this.#delayed[0].notBefore <= now) {
      this.#enqueue(this.#delayed.shift() as Job);
    }
  }

  /** Continues the turn of the organization, or moves it behind all waiting ones. */
  #requeue(queue: OrganizationQueue, now: number): void {
    const { organizationId } = queue;
    if (this.#currentTurn.organizationId !== organizationId || this.#rotation.length === 0)
      this.#currentTurn = { organizationId, startedAt: now, jobs: 0 };
    this.#currentTurn.jobs += 1;
    const { jobsMax, msMax } = this.#limits;
    const hasEnded = this.#currentTurn.jobs >= jobsMax || now - this.#currentTurn.startedAt >= msMax;
    if (hasEnded) {
      this.#currentTurn = { organizationId: '', startedAt: 0, jobs: 0 };
      this.#rotation.push(queue);
    } else this.#rotation.unshift(queue);
  }

  #enqueue(job: Job): void {
    let queue = this.#queues.get(job.organizationId);
    if (queue === undefined) {
      queue = new OrganizationQueue(job.organizationId);
      this.#queues.set(job.organizationId, queue);
      this.#rotation.push(queue);
    }
    queue.add(job);
    this.#waiting += 1;
  }
}

/** A binary heap by version: the oldest first, even when a job is offered again with its next step. */
class OrganizationQueue {
  readonly organizationId: string;
  readonly #heap: Job[] = [];

  constructor(organizationId: string) {
    this.organizationId = organizationId;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(job: Job): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(job);
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (this.#version(parent) <= job.version) break;
      heap[index] = heap[parent] as Job;
      index = parent;
    }
    heap[index] = job;
  }

  take(): Job {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    assert(first !== undefined && last !== undefined, 'only a queue with jobs is scheduled');
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(job: Job): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#version(child + 1) < this.#version(child)) child += 1;
      if (this.#version(child) >= job.version) break;
      heap[index] = heap[child] as Job;
      index = child;
    }
    heap[index] = job;
  }

  #version(index: number): number {
    return (this.#heap[index] as Job).version;
  }
}
