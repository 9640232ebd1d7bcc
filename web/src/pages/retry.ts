import { ApiError } from '../server/api-call.ts';
import { type DocumentRow, updateDocument } from '../server/retrieval.ts';
import { retryStatusOf } from './document-states.ts';

const concurrency = 3;

type FailedDocument = Pick<DocumentRow, 'collection_name' | 'path' | 'index_status'>;

export function retryDocument({ collection_name: collection, path, index_status: status }: FailedDocument) {
  return updateDocument({ collection, path }, { index_status: retryStatusOf(status) });
}

/**
 * Retries documents, a few at a time, until a request fails. `failure`: the error of that request, or null.
 * Documents that changed in the meantime are not counted.
 */
export async function retryDocuments(
  pages: AsyncIterable<readonly FailedDocument[]>,
): Promise<{ readonly retriedCount: number; readonly failure: unknown }> {
  let retriedCount = 0;
  for await (const page of pages) {
    const found = await retryPage(page);
    retriedCount += found.retriedCount;
    if (found.failure !== null) return { retriedCount, failure: found.failure };
  }
  return { retriedCount, failure: null };
}

async function retryPage(page: readonly FailedDocument[]) {
  const remaining = [...page];
  let retriedCount = 0;
  let failure: unknown = null;
  const worker = async () => {
    for (let row = remaining.shift(); row !== undefined; row = remaining.shift()) {
      try {
        await retryDocument(row);
        retriedCount += 1;
      } catch (error) {
        const hasChanged = error instanceof ApiError && (error.status === 400 || error.status === 404);
        if (!hasChanged) {
          failure ??= error;
          remaining.length = 0;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { retriedCount, failure };
}
