/** Limits of queries that combine, compare or mark results. The table of limits explains each. */
export const queryLimits = {
  queriesPerRequestMax: 8,
  collectionsPerRequestMax: 16,
  searchesPerRequestMax: 32,
  similarRowsMax: 1_024,
  highlightsMax: 100,
  highlightedUnitsMax: 65_536,
  highlightedResultsMax: 128,
  diverseResultsMax: 128,
  diverseCandidatesMax: 256,
  synonymListsMax: 500,
  synonymsPerListMax: 16,
  synonymUnitsMax: 64,
  synonymUnitsTotalMax: 65_536,
  stopWordsMax: 1_000,
  stopWordUnitsMax: 64,
} as const;
