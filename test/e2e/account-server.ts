import { rootTest } from '../support/tap.ts';
import { freePort } from './free-port.ts';
import { administrator, type HttpReply, sendRequest, startMailServer, TestUser } from './people.ts';
import { adminKey, TestServer } from './server.ts';

/** Address of the server in links and cookies; the tests reach it at another one. */
export const publicBase = 'https://quarry.example.com';

export type AccountServer = Awaited<ReturnType<typeof startAccountServer>>;

let started: Promise<AccountServer> | null = null;

/**
 * Joins the server for tests of accounts of this process; see `joinSharedServer`. Addresses of users must be unique over all
 * files that call this. A file that restarts the server with other settings restores them.
 */
export function joinAccountServer(): Promise<AccountServer> {
  started ??= startAccountServer();
  return started;
}

/** Starts a server behind https and a trusted proxy, with mail and GitHub configured, whose clock can be moved. */
async function startAccountServer() {
  let aheadMs = 0;
  const { url: MAIL_URL, mails } = await startMailServer(rootTest);
  const server = await TestServer.start(
    rootTest,
    {
      MAIL_URL,
      MAIL_FROM: 'quarry@example.com',
      TRUST_PROXY: 'true',
      BASE_URL: publicBase,
      PORT: String(await freePort()),
      ADMIN_PASSWORD_HASH: administrator.hash,
      GITHUB_CLIENT_ID: 'quarry',
      GITHUB_CLIENT_SECRET: 'hush',
    },
    { clockOffsetMs: () => aheadMs },
  );
  const at = (path: string) => `${server.url}${path}`;
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(at(path), { body, headers });
  let hostCount = 0;
  /** Header of a request from a host that sent no other. Failed attempts delay the next ones of a host. */
  const fromNewHost = () => {
    hostCount += 1;
    return { 'x-forwarded-for': `10.1.${hostCount >> 8}.${hostCount & 255}` };
  };
  const administer = (operation: string, body: unknown = {}): Promise<HttpReply> =>
    post(`/v1/admin/${operation}`, body, { authorization: `Bearer ${adminKey}` });
  /** User with a host of its own, whose mail links lead to the real address of the server. */
  const createUser = (email: string): TestUser => {
    const created = new TestUser(email, server, mails);
    created.headers = fromNewHost();
    const { link } = created;
    created.link = async () => (await link.call(created)).replace(publicBase, server.url);
    return created;
  };
  /** Organization of a new user. */
  const createOrganization = async (email: string) => {
    const owner = createUser(email);
    await owner.signIn();
    const { organization_id } = (await owner.call('organizations/add-organization', { name: 'Acme' })).body;
    return { owner, organization_id: organization_id as string };
  };
  /** Advances the clock of the server. */
  const wait = async (milliseconds: number) => {
    aheadMs += milliseconds;
    await server.syncClock();
  };
  const now = () => Date.now() + aheadMs;
  return { server, mails, at, post, fromNewHost, administer, createUser, createOrganization, wait, now };
}
