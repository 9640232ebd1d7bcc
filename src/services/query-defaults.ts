import type { QueryDefaults } from '../schemas/queries.ts';

/** Removes unknown fields. */
export function pickKnownDefaults({
  weights,
  min_score,
  max_per_document,
  syntax,
}: QueryDefaults): QueryDefaults {
  return {
    ...(weights === undefined
      ? {}
      : { weights: weights === null ? null : { lexical: weights.lexical, vector: weights.vector } }),
    ...(min_score === undefined ? {} : { min_score }),
    ...(max_per_document === undefined ? {} : { max_per_document }),
    ...(syntax === undefined ? {} : { syntax }),
  };
}
