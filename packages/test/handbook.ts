import { QuarryClient } from '@quarry/client';

/** The server of the tests: `QUARRY_URL` and `QUARRY_API_KEY`. */
export const credentials = {
  apiKey: variable('QUARRY_API_KEY'),
  baseUrl: variable('QUARRY_URL'),
};

export const refunds = 'Refunds are paid within fourteen days.';

/** Creates a collection of three documents. Returns a client. */
export async function addHandbook(collection_name: string): Promise<QuarryClient> {
  const client = new QuarryClient(credentials);
  await client.collections.addCollection({ collection_name });
  const add = (path: string, text: string, author: string, year: number) => ({
    path,
    content: { type: 'text' as const, text },
    metadata: { author, year },
  });
  const { results } = await client.documents.addDocuments({
    collection_name,
    documents: [
      add('refunds.txt', refunds, 'Ada', 2026),
      add('travel.txt', 'Train tickets are booked by the office.', 'Grace', 2024),
      add('holidays.txt', 'Every employee has thirty days of paid holiday.', 'Grace', 2025),
    ],
    wait: true,
  });
  const failed = results.find(({ index_status }) => index_status !== 'indexed');
  if (failed !== undefined) throw new Error(`${failed.path} was not indexed`);
  return client;
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`Set ${name}.`);
  return value;
}
