import { BenchUsageError, type FlagSpec } from './flag-specs.ts';

/** Parts of the case "engine". Every run builds the index; `build` also saves and loads it. */
export const enginePhases = ['build', 'curve', 'filters', 'replace', 'insert'] as const;
export type EnginePhase = (typeof enginePhases)[number];

export const phasesFlag: FlagSpec<readonly EnginePhase[]> = {
  placeholder: 'list',
  defaultText: enginePhases.join(','),
  meaning: 'parts of the case "engine" to measure; the index is always built',
  read(text, flag) {
    const names = (text ?? '').split(',');
    const phases = enginePhases.filter((phase) => names.includes(phase));
    if (phases.length === names.length) return phases;
    throw new BenchUsageError(`${flag} is ${text}; expected distinct values of ${enginePhases.join(', ')}.`);
  },
};
