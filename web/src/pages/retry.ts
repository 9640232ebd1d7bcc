import { type DocumentRow, updateDocument } from '../server/retrieval.ts';
import type { BulkAction } from './bulk-run.ts';
import { hasFailed, retryStatusOf } from './document-states.ts';

type FailedDocument = Pick<DocumentRow, 'collection_name' | 'path' | 'index_status'>;

export function retryDocument({ collection_name: collection, path, index_status: status }: FailedDocument) {
  return updateDocument({ collection, path }, { index_status: retryStatusOf(status) });
}

/** Retries failed documents. */
export const retryAction: BulkAction = {
  batchSize: 1,
  skippedStatuses: [400, 404],
  applies: ({ index_status: status }) => hasFailed(status),
  run: async ([row]) => {
    await retryDocument(row!);
    return 1;
  },
};
