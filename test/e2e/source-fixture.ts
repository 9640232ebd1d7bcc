import { createHash } from 'node:crypto';
import { waitUntil } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';

/** Documents of collections that follow a source, and the origins of the tests. */

export const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** SHA-256 of each document by path. */
export async function listHashes(
  api: CheckedApiClient,
  collection_name: string,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for (let path_gt: string | undefined; ; ) {
    const { documents } = await api.call('documents/get-document-info-list', {
      collection_name,
      ...(path_gt === undefined ? {} : { path_gt }),
    });
    for (const { path, sha256: hash } of documents as { path: string; sha256?: string }[])
      hashes.set(path, hash ?? '');
    if (documents.length < 1_024) return hashes;
    path_gt = documents.at(-1)!.path;
  }
}

export async function getSource(api: CheckedApiClient, source_name: string) {
  return (await api.call('sources/get-source', { source_name })).source;
}

/** Runs a source and waits for the end of a run that started after the call. Returns the source. */
export async function synchronize(api: CheckedApiClient, source_name: string, allow_empty = false) {
  const since = new Date().toISOString();
  await api.call('sources/sync-source', { source_name, allow_empty });
  await waitUntil(`a run of ${source_name}`, async () => {
    const { state, last_run } = await getSource(api, source_name);
    return state === 'idle' && last_run !== null && last_run.started_at >= since;
  });
  return await getSource(api, source_name);
}

/** Random numbers from a seed (mulberry32). */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** An origin that a test changes. */
export interface TestOrigin {
  write(key: string, content: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  delete(key: string): Promise<void>;
}

/** Makes random additions, edits, renames and deletions; keeps the expected content in `model`. */
export async function changeAtRandom(
  origin: TestOrigin,
  model: Map<string, string>,
  { changes, random }: { readonly changes: number; readonly random: (below: number) => number },
): Promise<void> {
  for (let i = 0; i < changes; i += 1) {
    const keys = [...model.keys()];
    const known = keys[random(Math.max(1, keys.length))];
    const fresh = `folder-${random(5)}/file-${random(1_000_000)}.txt`;
    const content = `Text ${random(1_000_000)} about granite.`;
    const kind = random(10);
    if (known === undefined || kind < 4) {
      await origin.write(fresh, content);
      model.set(fresh, content);
    } else if (kind < 7) {
      await origin.write(known, content);
      model.set(known, content);
    } else if (kind < 9 || keys.length === 1) {
      // An origin without files is an error, so the last file is not deleted.
      await origin.rename(known, fresh);
      model.set(fresh, model.get(known)!);
      model.delete(known);
    } else {
      await origin.delete(known);
      model.delete(known);
    }
  }
}

export function hashesOf(model: ReadonlyMap<string, string>, prefix = ''): Map<string, string> {
  const sorted = [...model].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return new Map(sorted.map(([key, content]) => [`${prefix}${key}`, sha256(content)]));
}
