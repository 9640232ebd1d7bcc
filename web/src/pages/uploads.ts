import { effect, signal } from '@preact/signals';
import { formatBytes } from '../format/numbers.ts';
import { type ApiError, isReachable, noReplyMessage, renewSession, toApiError } from '../server/api-call.ts';
import type { DocumentRow } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';
import { texts } from '../texts/en/upload.ts';
import { counted, fill } from '../texts/format-text.ts';

/** Upload queue: three files at a time, independent of the page that is shown. */

export type UploadState =
  | { readonly name: 'waiting' }
  | { readonly name: 'sending'; readonly sent: number }
  /** `document`: undefined until its state was read. */
  | { readonly name: 'stored'; readonly document?: UploadedDocument }
  | { readonly name: 'exists' }
  | { readonly name: 'failed'; readonly reason: string; readonly retriesOnReconnect: boolean }
  | { readonly name: 'canceled' }
  /** Not sent; a retry would not help. */
  | { readonly name: 'too-large'; readonly reason: string };

/** State of the document that a file became; it may have been deleted in the meantime. */
export type UploadedDocument =
  | Pick<DocumentRow, 'index_status' | 'error' | 'waiting_for' | 'progress'>
  | 'deleted';

export interface UploadItem {
  readonly id: number;
  readonly organizationId: string;
  readonly collection: string;
  readonly path: string;
  readonly file: File;
  readonly overwrite: boolean;
  /** Number of attempts without a reply. */
  readonly unansweredAttempts: number;
  readonly state: UploadState;
}

const concurrency = 3;
/**
 * After this many attempts without a reply the file is the cause, not the server: a proxy may cut off large uploads.
 */
const unansweredAttemptsMax = 3;
/** Maximum number of files in the list; for more files, use the command line. */
const uploadsMax = 20_000;
export const uploads = signal<readonly UploadItem[]>([]);
const interruptedMessage = fill(texts.theUploadWasInterruptedUnansweredAttemptsMax, {
  unansweredAttemptsMax,
});
const running = new Map<number, XMLHttpRequest>();
let lastId = 0;

/** A file with its path in the collection. */
export interface SelectedFile {
  readonly file: File;
  readonly path: string;
}

/**
 * Adds files to the queue. Files larger than `bytesMax` are not sent. Errors: throws if the list would exceed
 * its limit; then no file is added.
 */
export function addUploads(
  collection: string,
  selected: readonly SelectedFile[],
  { bytesMax, overwrite = false }: { readonly bytesMax: number; readonly overwrite?: boolean },
): void {
  if (uploads.peek().length + selected.length > uploadsMax)
    throw new Error(counted(texts.cannotUploadCountFilesAt, selected.length));
  const tooLarge = {
    name: 'too-large',
    reason: fill(texts.theFileExceedsTheLimit, { bytesMax: formatBytes(bytesMax) }),
  } as const;
  const added = selected.map(({ file, path }): UploadItem => {
    lastId += 1;
    const at = { id: lastId, organizationId: organizationId(), collection, path, file };
    const state: UploadState = file.size > bytesMax ? tooLarge : { name: 'waiting' };
    return { ...at, overwrite, unansweredAttempts: 0, state };
  });
  uploads.value = [...uploads.value, ...added];
  startPending();
}

/** Cancels all given uploads at once, so that no pending one starts when another ends. */
export function cancelUploads(ids: readonly number[]): void {
  updateUploads(ids, { state: { name: 'canceled' } });
  for (const id of ids) running.get(id)?.abort();
}

export function retryUploads(ids: readonly number[]): void {
  updateUploads(ids, { unansweredAttempts: 0, state: { name: 'waiting' } });
}

export function overwriteUploads(ids: readonly number[]): void {
  updateUploads(ids, { overwrite: true, unansweredAttempts: 0, state: { name: 'waiting' } });
}

/** Stores the state of an uploaded document, unless the file is being sent again. */
export function setUploadedDocument(id: number, document: UploadedDocument): void {
  if (stateOf(id) === 'stored') updateUploads([id], { state: { name: 'stored', document } });
}

/** Removes uploads that are not sent from the list. */
export function removeUploads(ids: readonly number[]): void {
  uploads.value = uploads.value.filter((each) => isPending(each) || !ids.includes(each.id));
}

/** Removes finished uploads from the list. */
export function clearUploads(): void {
  uploads.value = uploads.value.filter(isPending);
}

export function isPending({ state }: UploadItem): boolean {
  return state.name === 'waiting' || state.name === 'sending';
}

function updateUploads(
  ids: readonly number[],
  to: Partial<Pick<UploadItem, 'state' | 'overwrite' | 'unansweredAttempts'>>,
): void {
  const selectedIds = new Set(ids);
  uploads.value = uploads.peek().map((each) => (selectedIds.has(each.id) ? { ...each, ...to } : each));
  startPending();
}

function startPending(): void {
  if (!isReachable.peek()) return;
  for (const upload of uploads.peek()) {
    if (running.size >= concurrency) return;
    if (upload.state.name === 'waiting' && !running.has(upload.id)) send(upload);
  }
}

function send(upload: UploadItem): void {
  const { id, organizationId: organization, collection, path, file, overwrite, unansweredAttempts } = upload;
  const sending = new XMLHttpRequest();
  running.set(id, sending);
  const end = (state: UploadState, missedAttempts = 0) => {
    running.delete(id);
    if (stateOf(id) === 'canceled') startPending();
    else updateUploads([id], { state, unansweredAttempts: missedAttempts });
  };
  sending.upload.onprogress = ({ loaded }) => {
    if (stateOf(id) === 'sending') updateUploads([id], { state: { name: 'sending', sent: loaded } });
  };
  sending.onload = () => {
    if (sending.status === 200 || sending.status === 201) return end({ name: 'stored' });
    if (sending.status === 409) return end({ name: 'exists' });
    const error = toApiError(sending.status, sending.responseText, (name) => sending.getResponseHeader(name));
    end({ name: 'failed', reason: error.message, retriesOnReconnect: false });
    retryLater(id, error);
  };
  sending.onabort = () => end({ name: 'canceled' });
  sending.onerror = () => {
    isReachable.value = false;
    const missedAttempts = unansweredAttempts + 1;
    if (missedAttempts < unansweredAttemptsMax)
      end({ name: 'failed', reason: noReplyMessage(), retriesOnReconnect: true }, missedAttempts);
    else end({ name: 'failed', reason: interruptedMessage, retriesOnReconnect: false });
  };
  // One encoded path segment each: no character can be interpreted as URL syntax.
  const address = `/v1/documents/${encodeURIComponent(collection)}/${encodeURIComponent(path)}`;
  sending.open('PUT', overwrite ? `${address}?overwrite=true` : address);
  sending.setRequestHeader('x-quarry-organization', organization);
  sending.setRequestHeader('content-type', 'application/octet-stream');
  updateUploads([id], { state: { name: 'sending', sent: 0 } });
  sending.send(file);
}

function stateOf(id: number): UploadState['name'] | undefined {
  return uploads.peek().find((each) => each.id === id)?.state.name;
}

/** Retries automatically after a temporary rejection, or when the user signs in again. */
function retryLater(id: number, { status, retryAfterMs }: ApiError): void {
  const retry = () => {
    if (stateOf(id) === 'failed') retryUploads([id]);
  };
  if (status === 401)
    renewSession().then(retry, () => {}); // rejected only on sign-out: then the upload stays failed
  else if (retryAfterMs !== null) setTimeout(retry, retryAfterMs);
}

/** Retries uploads without a reply once the server is reachable again. */
effect(() => {
  if (!isReachable.value) return;
  uploads.value = uploads
    .peek()
    .map((each) =>
      each.state.name === 'failed' && each.state.retriesOnReconnect
        ? { ...each, state: { name: 'waiting' } }
        : each,
    );
  startPending();
});

/** Asks for confirmation before the tab is closed while uploads are running. */
window.addEventListener('beforeunload', (event) => {
  if (uploads.peek().some(isPending)) event.preventDefault();
});
