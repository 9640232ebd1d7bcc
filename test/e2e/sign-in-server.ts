import type { Test } from '../support/tap.ts';
import { freePort } from './free-port.ts';
import { createMailFolder, sendRequest, TestUser } from './people.ts';
import { TestServer } from './server.ts';

/** Address of the server in links and cookies; the tests reach it at another one. */
export const publicBase = 'https://quarry.example.com';

/** Starts a server behind https, with mail and GitHub configured. */
export async function startSignInServer(t: Test) {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const server = await TestServer.start(t, {
    MAIL_URL,
    BASE_URL: publicBase,
    PORT: String(await freePort()),
    GITHUB_CLIENT_ID: 'quarry',
    GITHUB_CLIENT_SECRET: 'hush',
  });
  const at = (path: string) => `${server.url}${path}`;
  /** User whose mail links lead to the real address of the server. */
  const createUser = (email: string): TestUser => {
    const created = new TestUser(email, server, mails);
    const { link } = created;
    created.link = async () => (await link.call(created)).replace(publicBase, server.url);
    return created;
  };
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(at(path), { body, headers });
  /** Organization of a new user. */
  const createOrganization = async (email: string) => {
    const owner = createUser(email);
    await owner.signIn();
    const { organization_id } = (await owner.call('organizations/add-organization', { name: 'Acme' })).body;
    return { owner, organization_id: organization_id as string };
  };
  return { server, mails, at, createUser, post, createOrganization };
}
