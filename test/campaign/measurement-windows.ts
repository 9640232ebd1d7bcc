import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import type { PartContext } from './part.ts';

/** Processor time of a machine since its start, summed over its processors, in ticks of 10 ms. */
export interface ProcessorTicks {
  readonly total: number;
  /** Time in which a processor was ready to run, but the hypervisor ran another virtual machine on it. */
  readonly stolen: number;
}

/** Null on systems other than Linux. */
export function readProcessorTicks(): ProcessorTicks | null {
  return platform() === 'linux' ? parseProcessorTicks(readFileSync('/proc/stat', 'latin1')) : null;
}

/** Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, and times within user. */
export function parseProcessorTicks(text: string): ProcessorTicks {
  const ticks = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '').split(' ').slice(0, 8).map(Number);
  return { total: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}

const windowMs = 500;
/** Of the time of all processors. In a window of two processors, this is two ticks. */
const stolenShareMax = 0.02;
const disturbedShareMax = 0.5;

type WindowListener = (isUndisturbed: boolean) => void;

/**
 * Divides a measurement into windows of half a second, and tells which of them the hypervisor disturbed. On a virtual
 * machine that shares its processors with others, most of the slowest percent of all requests are delayed by the
 * hypervisor: latencies of such windows say nothing about the server.
 */
export class MeasurementWindows {
  /** Number of windows that ended. */
  count = 0;
  disturbedCount = 0;
  readonly #read: () => ProcessorTicks | null;
  readonly #listeners: WindowListener[] = [];
  #ticks: ProcessorTicks | null;
  #wasUndisturbed = true;

  constructor(read: () => ProcessorTicks | null = readProcessorTicks) {
    this.#read = read;
    this.#ticks = read();
  }

  /**
   * Calls `listener` at the end of each window. A window is undisturbed if neither it nor the one before it was
   * disturbed, because a request can begin in the window before the one in which it ends.
   */
  onEnd(listener: WindowListener): void {
    this.#listeners.push(listener);
  }

  /** Why the latencies cannot be judged; null if they can. */
  reasonToSkip(): string | null {
    if (this.disturbedCount <= this.count * disturbedShareMax) return null;
    return `the hypervisor ran other machines in ${this.disturbedCount} of ${this.count} windows of ${windowMs} ms`;
  }

  endWindow(): void {
    const ticks = this.#read();
    const isUndisturbed =
      ticks === null || this.#ticks === null || stolenShare(this.#ticks, ticks) <= stolenShareMax;
    this.#ticks = ticks;
    const isMeasured = isUndisturbed && this.#wasUndisturbed;
    this.#wasUndisturbed = isUndisturbed;
    this.count += 1;
    if (!isMeasured) this.disturbedCount += 1;
    for (const listener of this.#listeners) listener(isMeasured);
  }
}

/**
 * Starts the windows of a part; they stop at its end. If the part must detect a planted fault, every window counts, so that
 * it detects the fault on any machine.
 */
export function createMeasurementWindows(context: PartContext): MeasurementWindows {
  const windows = new MeasurementWindows(context.plantsFault ? () => null : readProcessorTicks);
  const timer = setInterval(() => windows.endWindow(), windowMs);
  context.onCleanup(() => clearInterval(timer));
  return windows;
}

function stolenShare(before: ProcessorTicks, after: ProcessorTicks): number {
  return (after.stolen - before.stolen) / Math.max(1, after.total - before.total);
}
