import type { CheckedApiClient } from './checked-api-client.ts';

/** Texts and collections for the tests of documents and collections. */

export const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

export const sentence = (word: string, i: number) =>
  `Sentence ${i} of the ${word} edition speaks about the granite quarry near the river. `;

/** Adds a collection; returns its name. */
export async function createCollection(api: CheckedApiClient, name: string, num_shards = 1): Promise<string> {
  await api.call('collections/add-collection', { collection_name: name, num_shards });
  return name;
}
