import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { QueryRecorder } from './query-recorder.ts';
import type { SearchComponents } from './search-components.ts';
import type { MissingModel } from './search-result.ts';

/** Runs a model; returns null and records the reason when it is unavailable and the query may degrade. */
export async function runOrDegrade<Output>(
  { mayDegrade }: Pick<SearchComponents, 'mayDegrade'>,
  recorder: QueryRecorder,
  { part, run }: { readonly part: MissingModel['part']; readonly run: () => Promise<Output> },
): Promise<Output | null> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ModelUnavailableError) || !mayDegrade) throw error;
    recorder.missing.push({ part, model: error.model, reason: error.reason });
    return null;
  }
}
