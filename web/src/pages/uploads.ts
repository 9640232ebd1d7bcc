import { effect, signal } from '@preact/signals';
import { type CallError, isReachable, noAnswer, refusal, renewSession } from '../server/call.ts';
import { organizationId } from '../server/session.ts';
import { bytes, counted } from '../words/numbers.ts';

/** Files on their way to the server, three at a time, whatever page is shown meanwhile. */

export type UploadState =
  | { readonly name: 'waiting' }
  | { readonly name: 'sending'; readonly sent: number }
  | { readonly name: 'stored' }
  | { readonly name: 'exists' }
  | { readonly name: 'failed'; readonly why: string; readonly returns: boolean }
  | { readonly name: 'cancelled' }
  /** Not sent at all, and no other try would change that. */
  | { readonly name: 'too-large'; readonly why: string };

export interface Upload {
  readonly id: number;
  readonly organizationId: string;
  readonly collection: string;
  readonly path: string;
  readonly file: File;
  readonly overwrite: boolean;
  /** How often it was begun and got no answer. */
  readonly unanswered: number;
  readonly state: UploadState;
}

const atOnce = 3;
/** After so many it is the file that gets no answer, and not the server: a proxy may cut off what is too large for it. */
const unansweredMax = 3;
/** Files of one list; whoever has more has the command line. */
const uploadsMax = 20_000;
export const uploads = signal<readonly Upload[]>([]);
const cutOff = `It was cut off ${unansweredMax} times. It may be too large for a proxy on the way.`;
const running = new Map<number, XMLHttpRequest>();
let last = 0;

/** A file with the path that it gets in the collection. */
export interface Chosen {
  readonly file: File;
  readonly path: string;
}

/** A file that is larger than `bytesMax` is not even read. Errors: more files than a list holds; then none is added. */
export function addUploads(collection: string, chosen: readonly Chosen[], bytesMax: number): void {
  if (uploads.peek().length + chosen.length > uploadsMax)
    throw new Error(
      `${counted(chosen.length, 'file')} at once are too many for a browser: "quarry ingest <folder>" takes any number.`,
    );
  const tooLarge = { name: 'too-large', why: `It is larger than ${bytes(bytesMax)}.` } as const;
  const made = chosen.map(({ file, path }): Upload => {
    last += 1;
    const at = { id: last, organizationId: organizationId(), collection, path, file };
    const state: UploadState = file.size > bytesMax ? tooLarge : { name: 'waiting' };
    return { ...at, overwrite: false, unanswered: 0, state };
  });
  uploads.value = [...uploads.value, ...made];
  startWaiting();
}

/** All of them at one time, so that none begins because another one ended. */
export function cancelUploads(ids: readonly number[]): void {
  change(ids, { state: { name: 'cancelled' } });
  for (const id of ids) running.get(id)?.abort();
}

export function retryUploads(ids: readonly number[]): void {
  change(ids, { unanswered: 0, state: { name: 'waiting' } });
}

export function overwriteUploads(ids: readonly number[]): void {
  change(ids, { overwrite: true, unanswered: 0, state: { name: 'waiting' } });
}

/** Takes those off the list that are done with. */
export function clearUploads(): void {
  uploads.value = uploads.value.filter(isUnderWay);
}

export function isUnderWay({ state }: Upload): boolean {
  return state.name === 'waiting' || state.name === 'sending';
}

function change(
  ids: readonly number[],
  to: Partial<Pick<Upload, 'state' | 'overwrite' | 'unanswered'>>,
): void {
  const meant = new Set(ids);
  uploads.value = uploads.peek().map((each) => (meant.has(each.id) ? { ...each, ...to } : each));
  startWaiting();
}

function startWaiting(): void {
  if (!isReachable.peek()) return;
  for (const upload of uploads.peek()) {
    if (running.size >= atOnce) return;
    if (upload.state.name === 'waiting' && !running.has(upload.id)) send(upload);
  }
}

function send(upload: Upload): void {
  const { id, organizationId: organization, collection, path, file, overwrite, unanswered } = upload;
  const sending = new XMLHttpRequest();
  running.set(id, sending);
  const end = (state: UploadState, missed = 0) => {
    running.delete(id);
    if (stateOf(id) === 'cancelled') startWaiting();
    else change([id], { state, unanswered: missed });
  };
  sending.upload.onprogress = ({ loaded }) => {
    if (stateOf(id) === 'sending') change([id], { state: { name: 'sending', sent: loaded } });
  };
  sending.onload = () => {
    if (sending.status === 200 || sending.status === 201) return end({ name: 'stored' });
    if (sending.status === 409) return end({ name: 'exists' });
    const error = refusal(sending.status, sending.responseText, (name) => sending.getResponseHeader(name));
    end({ name: 'failed', why: error.message, returns: false });
    goOnLater(id, error);
  };
  sending.onabort = () => end({ name: 'cancelled' });
  sending.onerror = () => {
    isReachable.value = false;
    const missed = unanswered + 1;
    if (missed < unansweredMax) end({ name: 'failed', why: noAnswer, returns: true }, missed);
    else end({ name: 'failed', why: cutOff, returns: false });
  };
  // A path of its own in the address: what is in it cannot be mistaken for parts of the address.
  const address = `/v1/documents/${encodeURIComponent(collection)}/${encodeURIComponent(path)}`;
  sending.open('PUT', overwrite ? `${address}?overwrite=true` : address);
  sending.setRequestHeader('x-quarry-organization', organization);
  sending.setRequestHeader('content-type', 'application/octet-stream');
  change([id], { state: { name: 'sending', sent: 0 } });
  sending.send(file);
}

function stateOf(id: number): UploadState['name'] | undefined {
  return uploads.peek().find((each) => each.id === id)?.state.name;
}

/** After a refusal that ends by itself, or when somebody signs in again, the upload goes on without being asked. */
function goOnLater(id: number, { status, retryAfterMs }: CallError): void {
  const again = () => {
    if (stateOf(id) === 'failed') retryUploads([id]);
  };
  if (status === 401)
    renewSession().then(again, () => {}); // refused only when somebody signed out: then it stays as it is
  else if (retryAfterMs !== null) setTimeout(again, retryAfterMs);
}

/** Uploads that met a server that did not answer go on by themselves when it is back. */
effect(() => {
  if (!isReachable.value) return;
  uploads.value = uploads
    .peek()
    .map((each) =>
      each.state.name === 'failed' && each.state.returns ? { ...each, state: { name: 'waiting' } } : each,
    );
  startWaiting();
});

/** Whoever closes the tab while files are on their way is asked first. */
window.addEventListener('beforeunload', (event) => {
  if (uploads.peek().some(isUnderWay)) event.preventDefault();
});
