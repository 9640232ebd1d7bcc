import type { MemoryGrowth } from '../engines/engine-work.ts';
import type { ChurnResult, MeasuredEngine, MeasuredMode, ModeFigures } from './engine-measurement.ts';
import { ratioOf, spreadOf } from './statistics.ts';

/** Single figures of measured engines for the tables, charts and targets of the case. */

export function findMode(engine: MeasuredEngine | undefined, name: string): MeasuredMode | undefined {
  return engine?.modes.find((mode) => mode.name === name);
}

/** Returns the median over the rounds; null if not measured. */
export function medianOf(
  mode: MeasuredMode | undefined,
  of: (figures: ModeFigures) => number | null,
): number | null {
  return mode === undefined ? null : (spreadOf(mode.rounds.map(of))?.median ?? null);
}

export const perCpuSecond = ({ searchesPerCpuSecond }: ModeFigures) => searchesPerCpuSecond;

/** Returns the median over the rounds of the ratio of the first mode to the second. */
export function ratioOfModes(
  own: MeasuredMode | undefined,
  peer: MeasuredMode | undefined,
  of: (figures: ModeFigures) => number | null = perCpuSecond,
): number | null {
  if (own === undefined || peer === undefined) return null;
  // An interrupted run may lack the last round of one of them.
  const rounds = Math.min(own.rounds.length, peer.rounds.length);
  const figures = (mode: MeasuredMode) => mode.rounds.slice(0, rounds).map(of);
  return ratioOf(figures(own), figures(peer))?.median ?? null;
}

/** Returns the growth of process memory by building or loading, in bytes per vector. */
export function ownBytesPerVector(growth: MemoryGrowth | null, rows: number): number | null {
  if (growth === null || growth.before === null || growth.after === null) return null;
  return (growth.after.ownBytes - growth.before.ownBytes) / rows;
}

export function churnRounds({ recalls }: ChurnResult): number {
  return recalls.length - 1;
}

/** Returns rows per second of CPU time. */
export function buildRate({ built }: MeasuredEngine, rows: number): number {
  return (rows * 1_000) / built.cpuMs;
}
