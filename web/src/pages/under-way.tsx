import { useLoad, usePoll } from '../server/load.ts';
import { getStatus } from '../server/retrieval.ts';
import { counted } from '../words/numbers.ts';

interface Progress {
  /** Documents on their way into search. */
  readonly left: number;
  readonly failed: number;
}

/** How far the documents of a collection are, looked at again and again; undefined while not known. */
export function useProgress(collection: string | null): Progress | undefined {
  const look = async (abort: AbortSignal): Promise<Progress> => {
    if (collection === null) return { left: 0, failed: 0 };
    const status = await getStatus(collection, abort);
    const left = status.num_parsing_documents + status.num_indexing_documents;
    return { left, failed: status.num_failed_documents };
  };
  const progress = useLoad(look, [collection]);
  usePoll(
    async (abort) => {
      const found = await look(abort);
      progress.replace(found);
      return found.left > 0 ? 'busy' : 'idle';
    },
    [collection],
  );
  return progress.data;
}

/** Said as long as there are some. */
export function UnderWay({ left }: { readonly left: number | undefined }) {
  if (left === undefined || left === 0) return null;
  return (
    <p class="note" role="status">
      {counted(left, 'document is', 'documents are')} on the way into search and cannot be found yet.
    </p>
  );
}
