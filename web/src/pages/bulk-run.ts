import { ApiError } from '../server/api-call.ts';
import type { DocumentRow } from '../server/retrieval.ts';

/** Runs one action on many documents. */

const concurrency = 3;
/** Maximum wait that the server may ask for; a longer one stops the run. */
const waitMsMax = 60_000;

export interface BulkCounts {
  readonly done: number;
  /** Documents to which the action does not apply, or that were deleted or changed meanwhile. */
  readonly skipped: number;
}

export interface BulkAction {
  /** Maximum number of documents per call. */
  readonly batchSize: number;
  /** Whether the action applies to a document. */
  readonly applies: (row: DocumentRow) => boolean;
  /** Statuses of replies for documents that were changed or deleted meanwhile. */
  readonly skippedStatuses: readonly number[];
  /** Returns the number of documents that it changed. */
  readonly run: (rows: readonly DocumentRow[]) => Promise<number>;
}

/**
 * Runs the action on all documents, a few calls at a time. Waits and repeats a call that the server rejects as
 * temporarily too many. Throws the first other error after the running calls have ended; the counts tell how far
 * it came. `signal` stops it.
 */
export async function runBulk(
  pages: AsyncIterable<readonly DocumentRow[]>,
  action: BulkAction,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (counts: BulkCounts) => void },
): Promise<BulkCounts> {
  let counts: BulkCounts = { done: 0, skipped: 0 };
  let failure: unknown = null;
  const add = (done: number, skipped: number) => {
    counts = { done: counts.done + done, skipped: counts.skipped + skipped };
    onProgress(counts);
  };
  for await (const page of pages) {
    const rows = page.filter(action.applies);
    if (rows.length < page.length) add(0, page.length - rows.length);
    const batches = toBatches(rows, action.batchSize);
    const worker = async () => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        if (signal.aborted || failure !== null) return;
        try {
          const done = await runBatch(action, batch, signal);
          add(done, batch.length - done);
        } catch (error) {
          failure ??= error;
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    if (failure !== null) throw failure;
    if (signal.aborted) break;
  }
  return counts;
}

async function runBatch(
  action: BulkAction,
  batch: readonly DocumentRow[],
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    try {
      return await action.run(batch);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { status, retryAfterMs } = error;
      if (action.skippedStatuses.includes(status)) return 0;
      const mayWait = status === 429 && retryAfterMs !== null && retryAfterMs <= waitMsMax;
      if (!mayWait || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
    }
  }
}

function toBatches(rows: readonly DocumentRow[], size: number): (readonly DocumentRow[])[] {
  const count = Math.ceil(rows.length / size);
  return Array.from({ length: count }, (_, i) => rows.slice(i * size, (i + 1) * size));
}
