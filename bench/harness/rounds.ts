import { randomStream, shuffle } from './random.ts';

export interface RoundStep<T> {
  readonly round: number;
  readonly configuration: T;
}

const shuffleStream = 4;

/**
 * Interleaves repetitions: every round measures each configuration once in a random order, so that noise of
 * the machine, warm caches and slow drifts affect all of them alike.
 */
export function interleave<T>(configurations: readonly T[], rounds: number, seed: number): RoundStep<T>[] {
  return Array.from({ length: rounds }, (_, round) =>
    shuffle(configurations, randomStream(seed, shuffleStream, round)).map((configuration) => ({
      round,
      configuration,
    })),
  ).flat();
}
