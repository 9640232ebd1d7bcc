/**
 * Relevance from which a result counts as a good match: the value that separates queries with and without an
 * answer best on labeled sets (docs/guides/search-options.md has the error rates).
 */
export const goodMatchMin = 0.5;
