import { randomUUID } from 'node:crypto';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey, type TestServer } from './server.ts';

/** Organization without rate limits of its own, and a client with a key that may do everything in it. */
export interface Tenant {
  readonly organization_id: string;
  readonly key: string;
  readonly api: CheckedApiClient;
}

/** Creates an organization, so that the tests of a file can share a server but no data. */
export async function createTenant(server: TestServer): Promise<Tenant> {
  const administration = new CheckedApiClient(server, adminKey);
  const organization_id = randomUUID();
  await administration.call('admin/create-organization', { organization_id });
  await administration.call('admin/update-organization', {
    organization_id,
    subscription_tier: 'enterprise',
  });
  const request = { organization_id, name: 'tests', permission: 'all' };
  const { api_key: key } = await administration.call('admin/add-api-key', request);
  return { organization_id, key, api: new CheckedApiClient(server, key) };
}

/** Creates a key of an organization and returns a client with it. `fields`: of `add-api-key`, such as `restriction`. */
export async function createClient(
  server: TestServer,
  organization_id: string,
  fields: object = {},
): Promise<CheckedApiClient> {
  const administration = new CheckedApiClient(server, adminKey);
  const body = { organization_id, name: JSON.stringify(fields), permission: 'all', ...fields };
  return new CheckedApiClient(server, (await administration.call('admin/add-api-key', body)).api_key);
}
