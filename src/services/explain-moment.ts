import { toOptionalTimestamp } from '../core/timestamps.ts';
import type { QueryExplanation, ResultExplanation } from '../schemas/queries.ts';
import type { PastState } from '../search/past-search.ts';
import type { QueryOutcome } from '../search/search-result.ts';
import type { VersionRecord } from '../storage/versions.ts';

/** Returns the fields that explain which state of the collection was searched. */
export function explainMoment({
  moment,
}: Pick<QueryOutcome, 'moment'>): Pick<QueryExplanation, 'moment' | 'past'> {
  if (moment === undefined) return {};
  const { text, past } = moment;
  if (past === null) return { moment: text };
  const counts = { num_restored_versions: past.restored.size, num_hidden_versions: past.hidden.length };
  // The numbers concern all documents; without the moment, the caller must not learn them.
  return { moment: text, past: text === null ? null : counts };
}

/** Returns the explanation of the version of a result. */
export function explainVersion(
  { version, documentId }: VersionRecord,
  { restored }: PastState,
): NonNullable<ResultExplanation['version']> {
  const replaced = restored.get(version);
  return {
    document_id: documentId,
    replaced_at: toOptionalTimestamp(replaced?.at),
  };
}
