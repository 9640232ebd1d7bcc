import type { Test } from '../support/tap.ts';
import type { CheckedApiClient } from './checked-api-client.ts';

const bytesMax = 40;

/** Limits of an organization in which `checkStorageRaces` runs. */
export const raceOverrides = {
  override_max_storage_bytes: bytesMax,
  override_requests_per_minute: 100_000,
};

/**
 * Writes and deletes concurrently in the collection `c` of a full organization; it must never store more than its limit.
 * Every round tries other moments.
 */
export async function checkStorageRaces(
  t: Test,
  api: CheckedApiClient,
  readStoredBytes: () => Promise<number>,
  rounds: number,
): Promise<void> {
  const replace = (path: string, size: number) =>
    api.request('documents/add-document', {
      collection_name: 'c',
      path,
      content: { type: 'text', text: 'x'.repeat(size) },
      overwrite: true,
    });
  const remove = (...path: string[]) =>
    api.request('documents/delete-document', { collection_name: 'c', path });
  const others = Array.from({ length: 8 }, (_, i) => `other ${i}`);
  /** Actions that briefly free the space of `a`. */
  const races: Readonly<Record<string, () => Promise<unknown>>> = {
    'deleted and written': () => remove('a'),
    'written twice': () => replace('a', 1),
  };
  for (const [name, free] of Object.entries(races)) {
    for (let round = 0; round < rounds; round += 1) {
      for (const path of ['a', 'b', 'c', 'd'])
        t.match(await replace(path, 10), { status: /^20[01]$/ }, 'all of the space is used');
      const trying = others.map(async (path, i) => {
        await new Promise((resolve) => setTimeout(resolve, i));
        const as = 'documents/add-document';
        await api.request(`documents/c/${path}`, undefined, { method: 'PUT', body: 'x'.repeat(9), as });
      });
      await Promise.all([free(), replace('a', 10), ...trying]);
      const bytes = await readStoredBytes();
      t.ok(bytes <= bytesMax, `${name}: ${bytes} bytes`);
      await remove(...others);
    }
  }
}
