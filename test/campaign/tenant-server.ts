import { randomUUID } from 'node:crypto';
import { sendRequest } from '../e2e/people.ts';
import { adminKey, type ServerVariables, TestServer } from '../e2e/server.ts';
import type { PartContext } from './part.ts';
import { serverHost } from './server-host.ts';

/** Organization with a key, a collection and documents. */
export interface CampaignTenant {
  readonly key: string;
  readonly call: (operation: string, body: object) => Promise<unknown>;
}

const vocabulary =
  'harbour master delivery note noon clerk barrel salted herring ledger tide anchor rope mast'.split(' ');

/** Server with default settings and several organizations without individual limits. */
export async function startServerWithTenants(
  context: PartContext,
  { tenants, variables = {} }: { readonly tenants: number; readonly variables?: ServerVariables },
): Promise<{ server: TestServer; tenants: CampaignTenant[] }> {
  const server = await TestServer.start(
    serverHost(context),
    { LOG_LEVEL: 'warn', ...variables },
    {
      onSpawn: (child) => context.trackProcess(child),
    },
  );
  const created: CampaignTenant[] = [];
  for (let i = 0; i < tenants; i += 1) created.push(await createTenant(server));
  return { server, tenants: created };
}

async function createTenant(server: TestServer): Promise<CampaignTenant> {
  const organization_id = randomUUID();
  const call = async (operation: string, body: object, key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await sendRequest(`${server.url}/v1/${operation}`, { headers, body });
    if (answer.status >= 300) throw new Error(`${operation} returned ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  await call('admin/create-organization', { organization_id }, adminKey);
  await call('admin/update-organization', { organization_id, subscription_tier: 'enterprise' }, adminKey);
  const issued = { organization_id, name: 'campaign', permission: 'all' };
  const key = (await call('admin/add-api-key', issued, adminKey)).api_key as string;
  return { key, call: (operation, body) => call(operation, body, key) };
}

export async function addDocuments(
  tenant: CampaignTenant,
  options: {
    readonly collection: string;
    readonly count: number;
    /** Words of each document; 150 if absent. */
    readonly words?: number;
    readonly randomBelow: (limit: number) => number;
  },
): Promise<void> {
  const { collection: collection_name, count, words = 150, randomBelow } = options;
  await tenant.call('collections/add-collection', { collection_name });
  for (let from = 0; from < count; from += 64) {
    const documents = Array.from({ length: Math.min(64, count - from) }, (_, i) => ({
      path: `${from + i}.txt`,
      content: { type: 'text', text: randomText(words, randomBelow) },
    }));
    await tenant.call('documents/add-documents', { collection_name, documents, wait: true });
  }
}

export function randomText(count: number, randomBelow: (limit: number) => number): string {
  return Array.from({ length: count }, () => vocabulary[randomBelow(vocabulary.length)]).join(' ');
}
