import { runOrDegrade } from './degraded-models.ts';
import type { QueryRecorder } from './query-recorder.ts';
import type { SearchRequest } from './query-request.ts';
import type { SearchComponents } from './search-components.ts';

/**
 * Returns the vector of a query text, or the one that the caller supplied. Null: the query uses no
 * vectors, or the model is unavailable and the query continues with lexical search only.
 */
export async function embed(
  components: SearchComponents,
  request: SearchRequest,
  text: string,
  recorder: QueryRecorder,
): Promise<Float32Array | null> {
  const { weights } = request.control;
  if (weights.vector === 0) return null;
  if (request.vector != null) return request.vector;
  const { collectionId, model } = request.collection;
  const run = () => components.models.embed({ collectionId, model, text, shared: request.isWide });
  // Without lexical search and without a vector nothing could be searched, so the query fails.
  return weights.lexical === 0 ? run() : runOrDegrade(components, recorder, { part: 'vector', run });
}
