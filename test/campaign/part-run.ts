import type { ChildProcess } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createTestRandom } from '../storage/test-random.ts';
import type { Part, PartContext, PartSize } from './part.ts';
import { ProgressLine } from './progress-line.ts';
import type { GuaranteeResult, PartResult, Violation } from './report.ts';

const violationsMax = 50;
/** Implicit guarantee of every part: a part that ends early has checked nothing. */
const completionGuarantee = { name: 'completes', text: 'the part completes' };

/** One run of one part: counts violations and cleans up. */
export class PartRun implements PartContext {
  readonly random;
  readonly size: PartSize;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly plantsFault: boolean;
  readonly #part: Part;
  readonly #progress = new ProgressLine();
  readonly #startedMs = performance.now();
  readonly #cleanups: (() => unknown)[] = [];
  readonly #counts = new Map<string, number>();
  readonly #skipped = new Map<string, string>();
  readonly #violations: Violation[] = [];
  readonly #children: Set<ChildProcess>;

  constructor(
    part: Part,
    options: {
      seed: number;
      size: PartSize;
      folder: string;
      signal: AbortSignal;
      plantsFault: boolean;
      children: Set<ChildProcess>;
    },
  ) {
    this.#part = part;
    this.random = createTestRandom(options.seed);
    this.size = options.size;
    this.folder = join(options.folder, part.name);
    this.signal = options.signal;
    this.plantsFault = options.plantsFault;
    this.#children = options.children;
    mkdirSync(this.folder, { recursive: true });
  }

  isOver(defaultMinutes: number): boolean {
    if (this.signal.aborted) return true;
    return performance.now() - this.#startedMs >= this.millisecondsFor(defaultMinutes);
  }

  millisecondsFor(defaultMinutes: number): number {
    return (this.size.minutes ?? defaultMinutes) * 60_000;
  }

  progress(text: string): void {
    const seconds = Math.round((performance.now() - this.#startedMs) / 1_000);
    const violations = this.#violationsCount();
    const found = violations === 0 ? '' : `, ${violations} violations`;
    this.#progress.update(`${this.#part.name} ${seconds} s: ${text}${found}`);
  }

  violate(guarantee: string, message: string, details?: unknown): void {
    const isKnown = [...this.#part.guarantees, completionGuarantee].some(({ name }) => name === guarantee);
    if (!isKnown) throw new Error(`${this.#part.name} has no guarantee ${guarantee}`);
    this.#counts.set(guarantee, (this.#counts.get(guarantee) ?? 0) + 1);
    if (this.#violations.length >= violationsMax) return;
    this.#violations.push({ guarantee, message, ...(details === undefined ? {} : { details }) });
    this.#progress.writeLine(`${this.#part.name}: VIOLATION of ${guarantee}: ${message}`);
  }

  skip(guarantee: string, reason: string): void {
    this.#skipped.set(guarantee, reason);
    this.#progress.writeLine(`${this.#part.name}: ${guarantee} is not checked: ${reason}`);
  }

  onCleanup(action: () => unknown): void {
    this.#cleanups.push(action);
  }

  trackProcess(child: ChildProcess): void {
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
  }

  async run(): Promise<PartResult> {
    this.#progress.writeLine(`${this.#part.name}: ${this.#part.description} (seed ${this.random.seed})`);
    let measurements = {};
    try {
      measurements = await this.#part.run(this);
    } catch (error) {
      if (!this.signal.aborted) this.violate(completionGuarantee.name, describe(error));
    } finally {
      await this.#cleanUp();
    }
    return {
      name: this.#part.name,
      seconds: (performance.now() - this.#startedMs) / 1_000,
      guarantees: [...this.#part.guarantees, completionGuarantee].map((guarantee) =>
        this.#resultOf(guarantee),
      ),
      violations: this.#violations,
      measurements,
    };
  }

  #resultOf({ name, text }: { name: string; text: string }): GuaranteeResult {
    const violations = this.#counts.get(name) ?? 0;
    const isBroken = this.#counts.has(completionGuarantee.name) ? 'the part did not complete' : undefined;
    const reason = this.signal.aborted
      ? 'the campaign was interrupted'
      : (this.#skipped.get(name) ?? isBroken);
    if (violations > 0) return { name, text, outcome: 'violated', violations };
    if (reason !== undefined) return { name, text, outcome: 'not checked', violations, reason };
    return { name, text, outcome: 'held', violations };
  }

  #violationsCount(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  async #cleanUp(): Promise<void> {
    for (const action of this.#cleanups.reverse()) {
      try {
        await action();
      } catch (error) {
        this.violate(completionGuarantee.name, `cleaning up failed: ${describe(error)}`);
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
