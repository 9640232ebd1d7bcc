import { type AuthenticatorBehavior, SoftwareAuthenticator } from '../support/software-authenticator.ts';
import type { Test } from '../support/tap.ts';
import { freePort } from './free-port.ts';
import { createMailFolder, type HttpReply, sendRequest, TestUser } from './people.ts';
import { adminKey, type ServerVariables, TestServer } from './server.ts';
import { publicBase } from './sign-in-server.ts';

/** Adds a passkey to the account of a user. */
async function addPasskey(
  user: TestUser,
  authenticator: SoftwareAuthenticator,
  { name = 'Laptop', ...behavior }: AuthenticatorBehavior & { readonly name?: string } = {},
): Promise<HttpReply> {
  const begun = await user.call('users/begin-passkey');
  if (begun.status !== 200) return begun;
  const { options, passkey_token } = begun.body;
  const credential = authenticator.create(options, behavior);
  return user.call('users/add-passkey', { passkey_token, credential, name });
}

const createAuthenticator = () => new SoftwareAuthenticator(publicBase);

/** Server behind https with mail, whose clock can be moved, and users with authenticators. */
export async function startPasskeyServer(t: Test, variables: ServerVariables = {}) {
  let ahead = 0;
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const server = await TestServer.start(
    t,
    { MAIL_URL, TRUST_PROXY: 'true', BASE_URL: publicBase, PORT: String(await freePort()), ...variables },
    { clockOffsetMs: () => ahead },
  );
  let hostCount = 0;
  const fromNewHost = () => {
    hostCount += 1;
    return { 'x-forwarded-for': `10.1.${hostCount >> 8}.${hostCount & 255}` };
  };
  const post = (path: string, body: unknown, headers: Record<string, string> = fromNewHost()) =>
    sendRequest(`${server.url}/api/${path}`, { body, headers });
  const administer = (operation: string, body: unknown) =>
    sendRequest(`${server.url}/v1/admin/${operation}`, {
      body,
      headers: { authorization: `Bearer ${adminKey}` },
    });
  /** Signed-in user. */
  const createUser = async (name: string): Promise<TestUser> => {
    const user = new TestUser(`${name}@example.com`, server, mails);
    const { link } = user;
    user.link = async () => (await link.call(user)).replace(publicBase, server.url);
    user.headers = fromNewHost();
    const signedIn = await user.signIn();
    t.match(signedIn, { status: 200 }, signedIn.text);
    return user;
  };
  /** User with one passkey. */
  const createOwner = async (name: string, behavior: AuthenticatorBehavior = {}) => {
    const user = await createUser(name);
    const authenticator = createAuthenticator();
    const added = await addPasskey(user, authenticator, behavior);
    t.match(added, { status: 200 }, added.text);
    return { user, authenticator, passkeyId: added.body.passkey.id as string };
  };
  const beginSignIn = async () => (await post('auth/passkey/begin', {})).body;
  /** Signs in with the newest passkey of an authenticator. */
  const signIn = async (authenticator: SoftwareAuthenticator, behavior: AuthenticatorBehavior = {}) => {
    const { options, passkey_token } = await beginSignIn();
    return post('auth/passkey/sign-in', { passkey_token, credential: authenticator.sign(options, behavior) });
  };
  /** Advances the clock of the server. */
  const wait = async (milliseconds: number) => {
    ahead += milliseconds;
    await server.syncClock();
  };
  const now = () => Date.now() + ahead;
  return {
    server,
    mails,
    fromNewHost,
    post,
    administer,
    createUser,
    createAuthenticator,
    addPasskey,
    createOwner,
    beginSignIn,
    signIn,
    wait,
    now,
  };
}
