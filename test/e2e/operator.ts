import { runQuarry } from '../cli/quarry.ts';
import { sendRequest } from './people.ts';
import type { TestServer } from './server.ts';

/** Signs in as the operator with a new link, because the printed one may be used. Returns the token of the session. */
export async function signInAsOperator({ data, url }: TestServer): Promise<string> {
  const printed = await runQuarry(['login-link', '--data', data, '--url', url]);
  const headers = { accept: 'application/json' };
  const reply = await sendRequest(printed.out.trim(), { method: 'GET', headers });
  if (reply.status !== 200) throw new Error(`the operator cannot sign in: ${printed.err}${reply.text}`);
  return reply.body.access_token;
}

/** Creates an organization of the operator, and returns the token of the session with which it is administered. */
export async function createOperatorOrganization(
  server: TestServer,
): Promise<{ readonly token: string; readonly organization_id: string }> {
  const token = await signInAsOperator(server);
  const headers = { authorization: `Bearer ${token}` };
  const address = `${server.url}/api/organizations/add-organization`;
  const reply = await sendRequest(address, { headers, body: { name: 'Of the operator' } });
  if (reply.status !== 200) throw new Error(`the organization is not created: ${reply.status} ${reply.text}`);
  return { token, organization_id: reply.body.organization_id };
}
