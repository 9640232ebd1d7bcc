/** The six sets whose mean the model cards report. */
export const defaultSets: readonly string[] = [
  'cranfield',
  'cisi',
  'liveqa-med',
  'squad-dev-v1.1',
  'nq-oracle',
  'boolq-dev',
];
