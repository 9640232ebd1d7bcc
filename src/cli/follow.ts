import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import type { StatusResponse } from '../schemas/status.ts';
import type { Api } from './api.ts';
import { hasFailed, isFinal, type ListedDocument, listDocuments } from './document-list.ts';
import { counted } from './layout.ts';
import type { Progress } from './progress.ts';

const pollMsMin = 250;
const pollMsMax = 5_000;
/** A list of a large collection costs a second; while others keep the collection busy it is read this often. */
const listEveryMs = 20_000;

export interface FollowRequest {
  readonly collection: string;
  /** Paths whose end to wait for. */
  readonly paths: ReadonlySet<string>;
  /** All these paths start with it. */
  readonly prefix: string;
}

export interface FollowResult {
  readonly indexed: number;
  readonly failed: readonly ListedDocument[];
  /** Documents that somebody deleted meanwhile. */
  readonly gone: number;
}

/** Polls until every document of `paths` is indexed, failed or gone. */
export async function followUntilFinal(
  api: Api,
  clock: Clock,
  request: FollowRequest,
  progress: Progress,
): Promise<FollowResult> {
  let listedAt = clock.monotonic();
  for (let pollMs = pollMsMin; ; pollMs = Math.min(pollMsMax, pollMs * 1.5)) {
    const status = await api.call<StatusResponse>('status/get-status', {
      collection_name: request.collection,
    });
    const busy = status.num_parsing_documents + status.num_indexing_documents;
    if (busy === 0 || clock.monotonic() - listedAt > listEveryMs) {
      const result = await readResult(api, request);
      listedAt = clock.monotonic();
      if (result !== null) return result;
    }
    const done = Math.max(0, request.paths.size - busy);
    progress.update({
      done,
      total: request.paths.size,
      words: `${done}/${counted(request.paths.size, 'document')}`,
    });
    await sleep(pollMs, undefined, { signal: api.signal });
  }
}

/** The result when all are final, else null. */
async function readResult(api: Api, request: FollowRequest): Promise<FollowResult | null> {
  let indexed = 0;
  const failed: ListedDocument[] = [];
  for await (const document of listDocuments(api, request)) {
    if (!request.paths.has(document.path)) continue;
    if (!isFinal(document)) return null;
    if (hasFailed(document)) failed.push(document);
    else indexed += 1;
  }
  return { indexed, failed, gone: request.paths.size - indexed - failed.length };
}
