import { isNotFound } from '../server/api-call.ts';
import { usePoll } from '../server/load.ts';
import { getDocument } from '../server/retrieval.ts';
import { isSettled } from './document-states.ts';
import { setUploadedDocument, type UploadedDocument, type UploadItem } from './uploads.ts';

/** Number of documents that are read at a time, in upload order: the server indexes in about the same order. */
const batchSize = 16;

/** Polls the state of the stored files until all are indexed or failed. */
export function useUploadedDocuments(all: readonly UploadItem[]): void {
  const unsettled = all.filter(isUnsettled);
  usePoll(
    async (abort) => {
      for (let start = 0; start < unsettled.length; start += batchSize) {
        const batch = unsettled.slice(start, start + batchSize);
        const found = await Promise.all(batch.map((upload) => readDocument(upload, abort)));
        for (const [index, document] of found.entries()) setUploadedDocument(batch[index]!.id, document);
        if (found.some((document) => document !== 'deleted' && !isSettled(document.index_status)))
          return 'busy';
      }
      return unsettled.length > 0 ? 'busy' : 'idle';
    },
    [unsettled.length > 0],
  );
}

function isUnsettled({ state }: UploadItem): boolean {
  if (state.name !== 'stored' || state.document === 'deleted') return false;
  return state.document === undefined || !isSettled(state.document.index_status);
}

async function readDocument({ collection, path }: UploadItem, abort: AbortSignal): Promise<UploadedDocument> {
  try {
    return (await getDocument({ collection, path }, abort)).document;
  } catch (error) {
    if (isNotFound(error)) return 'deleted';
    throw error;
  }
}
