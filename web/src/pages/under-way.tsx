import { useLoad, usePoll } from '../server/load.ts';
import { getStatus } from '../server/retrieval.ts';
import { counted } from '../words/numbers.ts';

/** How many documents of a collection are on their way into search, looked at again and again; undefined while not known. */
export function useUnderWay(collection: string | null): number | undefined {
  const look = async (abort: AbortSignal) => {
    if (collection === null) return 0;
    const { num_parsing_documents: parsing, num_indexing_documents: indexing } = await getStatus(
      collection,
      abort,
    );
    return parsing + indexing;
  };
  const left = useLoad(look, [collection]);
  usePoll(
    async (abort) => {
      const found = await look(abort);
      left.replace(found);
      return found > 0 ? 'busy' : 'idle';
    },
    [collection],
  );
  return left.data;
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
