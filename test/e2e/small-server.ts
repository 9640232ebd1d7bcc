import { rootTest } from '../support/tap.ts';
import { TestServer } from './server.ts';
import { createTenant, type Tenant } from './tenant.ts';

let started: Promise<TestServer> | null = null;

/** Limits that a test reaches with few requests, and one slot of each kind, so that work is done one after the other. */
const variables = {
  FREE_QUERIES_PER_MINUTE: '40',
  FREE_RERANK_REQUESTS_PER_MINUTE: '40',
  RERANKED_QUERIES_RUNNING_MAX: '1',
  PARSE_THREADS: '1',
  RERANK_THREADS: '1',
  EMBED_THREADS: '1',
};

/** Joins the server with small limits of this process as a new organization without limits; see `joinSharedServer`. */
export async function joinSmallServer(): Promise<Tenant & { readonly server: TestServer }> {
  started ??= TestServer.start(rootTest, variables);
  const server = await started;
  return { server, ...(await createTenant(server)) };
}
