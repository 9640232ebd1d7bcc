import { CallError } from '../server/call.ts';
import { type DocumentRow, updateDocument } from '../server/retrieval.ts';
import { retryOf } from './stages.ts';

const atOnce = 3;

type Failed = Pick<DocumentRow, 'collection_name' | 'path' | 'index_status'>;

export function retry({ collection_name: collection, path, index_status: status }: Failed) {
  return updateDocument({ collection, path }, { index_status: retryOf(status) });
}

/**
 * Tries documents again, a few at a time, until one is refused. `refused`: why; those that changed meanwhile do not
 * count.
 */
export async function retryAll(
  pages: AsyncIterable<readonly Failed[]>,
): Promise<{ readonly tried: number; readonly refused: unknown }> {
  let tried = 0;
  for await (const page of pages) {
    const found = await retryPage(page);
    tried += found.tried;
    if (found.refused !== null) return { tried, refused: found.refused };
  }
  return { tried, refused: null };
}

async function retryPage(page: readonly Failed[]) {
  const waiting = [...page];
  let tried = 0;
  let refused: unknown = null;
  const worker = async () => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      try {
        await retry(row);
        tried += 1;
      } catch (error) {
        const changedMeanwhile = error instanceof CallError && (error.status === 400 || error.status === 404);
        if (!changedMeanwhile) {
          refused ??= error;
          waiting.length = 0;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { tried, refused };
}
