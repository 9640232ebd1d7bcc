/** Limits of queries that combine, compare or mark results. The table of limits explains each. */
export const queryLimits = {
  highlightsMax: 100,
  highlightedUnitsMax: 65_536,
  highlightedResultsMax: 128,
} as const;
