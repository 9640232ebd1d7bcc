import { chanceOf, shuffled } from './chance.ts';

export interface Turn<T> {
  readonly round: number;
  readonly configuration: T;
}

const shuffleStream = 4;

/**
 * Interleaved repetitions: every round measures each configuration once, in an order of its own, so that noise of
 * the machine, warm caches and slow drifts hit all of them alike.
 */
export function interleaved<T>(configurations: readonly T[], rounds: number, seed: number): Turn<T>[] {
  return Array.from({ length: rounds }, (_, round) =>
    shuffled(configurations, chanceOf(seed, shuffleStream, round)).map((configuration) => ({
      round,
      configuration,
    })),
  ).flat();
}
