import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey, TestServer } from './server.ts';
import { checkStorageRaces, raceOverrides } from './storage-races.ts';
import { createTenant } from './tenant.ts';

/** Many rounds of the storage races of limits.test.ts. */

t.setTimeout(testFileMsMax);

t.test('concurrent writes and deletions of one path never exceed the storage limit', async (t) => {
  const server = await TestServer.start(t);
  const administration = new CheckedApiClient(server, adminKey);
  const { organization_id, api } = await createTenant(server);
  await administration.call('admin/update-organization', { organization_id, ...raceOverrides });
  await api.call('collections/add-collection', { collection_name: 'c' });
  const readStoredBytes = async () => {
    const shown = await administration.call('admin/get-organization', { organization_id });
    return (shown as unknown as { storage: { readonly bytes: number } }).storage.bytes;
  };
  await checkStorageRaces(t, api, readStoredBytes, 100);
});
