import { rootTest } from '../support/tap.ts';
import { TestServer } from './server.ts';
import { createTenant, type Tenant } from './tenant.ts';

let started: Promise<TestServer> | null = null;

/**
 * Default settings, and four that let more files join: tools of MCP that write, a log of all requests, the key of a chat
 * service without its address, which is no chat model, and the engine for OCR that needs no installed program.
 */
const variables = { MCP: 'write', LOG_LEVEL: 'debug', CHAT_KEY: 'unused', OCR_ENGINE: 'embedded' };

/**
 * Joins the server with default settings of this process as a new organization. The test files that call this run
 * several per process, one after the other (`test/run/files.ts`), because a start costs more CPU time than most of these
 * files. They may restart and kill the server, and must not depend on other organizations.
 */
export async function joinSharedServer(): Promise<Tenant & { readonly server: TestServer }> {
  started ??= TestServer.start(rootTest, variables);
  const server = await started;
  return { server, ...(await createTenant(server)) };
}
