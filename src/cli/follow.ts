import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import type { StatusResponse } from '../schemas/status.ts';
import type { ApiClient } from './api-client.ts';
import { hasFailed, isFinal, type ListedDocument, listDocuments } from './document-list.ts';
import type { ProgressBar } from './progress.ts';
import { formatDuration, pluralize, toPrintable } from './text-layout.ts';

const pollMsMin = 250;
const pollMsMax = 1_000;
/**
 * Interval of list requests while other clients keep the collection busy; listing a large collection takes a
 * second.
 */
const listIntervalMs = 20_000;
/** Documents that are parsed for longer are shown by name. */
const shownAfterMs = 1_000;

const stageLabels: Readonly<Record<string, string>> = {
  waiting: 'waiting for a parser',
  reading: 'reading',
  converting: 'LibreOffice',
  recognising: 'OCR',
};

export interface FollowRequest {
  readonly collection: string;
  /** Paths of the documents to wait for. */
  readonly paths: ReadonlySet<string>;
  /** Common prefix of all paths. */
  readonly prefix: string;
}

export interface FollowResult {
  readonly indexed: number;
  readonly failed: readonly ListedDocument[];
  /** Documents deleted by others in the meantime. */
  readonly deleted: number;
}

/** Polls until every document of `paths` is indexed, failed or deleted. */
export async function followUntilFinal(
  api: ApiClient,
  clock: Clock,
  request: FollowRequest,
  progress: ProgressBar,
): Promise<FollowResult> {
  let listedAt = clock.monotonic();
  for (let pollMs = pollMsMin; ; pollMs = Math.min(pollMsMax, pollMs * 1.5)) {
    const status = await api.call<StatusResponse>('status/get-status', {
      collection_name: request.collection,
    });
    const pendingCount = status.num_parsing_documents + status.num_indexing_documents;
    if (pendingCount === 0 || clock.monotonic() - listedAt > listIntervalMs) {
      const result = await readResult(api, request);
      listedAt = clock.monotonic();
      if (result !== null) return result;
    }
    const done = Math.max(0, request.paths.size - pendingCount);
    progress.update({
      done,
      total: request.paths.size,
      label: `${done}/${pluralize(request.paths.size, 'document')}${formatParsing(status, request.paths)}`,
    });
    await sleep(pollMs, undefined, { signal: api.signal });
  }
}

/** Formats the document that has been parsed for the longest time: `; scan.pdf: page 3 of 12, OCR, 0:41`. */
function formatParsing({ parsing_documents = [] }: StatusResponse, paths: ReadonlySet<string>): string {
  const [slowest] = parsing_documents
    .filter(({ path, elapsed_ms }) => paths.has(path) && elapsed_ms >= shownAfterMs)
    .sort((a, b) => b.elapsed_ms - a.elapsed_ms);
  if (slowest === undefined) return '';
  const { path, stage, num_pages_done, num_pages, elapsed_ms } = slowest;
  const page = num_pages === null ? '' : `page ${Math.min(num_pages, num_pages_done + 1)} of ${num_pages}, `;
  return `; ${toPrintable(path)}: ${page}${stageLabels[stage] ?? stage}, ${formatDuration(elapsed_ms)}`;
}

/** Returns the result if all documents are final, else null. */
async function readResult(api: ApiClient, request: FollowRequest): Promise<FollowResult | null> {
  let indexed = 0;
  const failed: ListedDocument[] = [];
  for await (const document of listDocuments(api, request)) {
    if (!request.paths.has(document.path)) continue;
    if (!isFinal(document)) return null;
    if (hasFailed(document)) failed.push(document);
    else indexed += 1;
  }
  return { indexed, failed, deleted: request.paths.size - indexed - failed.length };
}
