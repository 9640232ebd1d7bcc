import { FakeChatService } from '../support/fake-chat-service.ts';
import { rootTest } from '../support/tap.ts';
import { TestServer } from './server.ts';
import { createTenant, type Tenant } from './tenant.ts';

interface ChatServer {
  readonly server: TestServer;
  readonly service: FakeChatService;
}

let started: Promise<ChatServer> | null = null;

/**
 * Joins the server with a chat model of this process as a new organization; see `joinSharedServer`. Two answers are written
 * at a time.
 */
export async function joinChatServer(): Promise<ChatServer & Tenant> {
  started ??= startChatServer();
  const joined = await started;
  resetService(joined.service);
  return { ...joined, ...(await createTenant(joined.server)) };
}

export function resetService(service: FakeChatService): void {
  service.behavior = 'well';
  service.write = () => 'The first snippet says it [1].';
  service.finishReason = 'stop';
  service.reportsUsage = true;
}

async function startChatServer(): Promise<ChatServer> {
  const service = await FakeChatService.start(rootTest);
  const server = await TestServer.start(rootTest, { ...service.variables, CHAT_REQUESTS_MAX: '2' });
  return { server, service };
}
