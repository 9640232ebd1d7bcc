import { type AuthenticatorBehavior, SoftwareAuthenticator } from '../support/software-authenticator.ts';
import type { Test } from '../support/tap.ts';
import { type AccountServer, publicBase } from './account-server.ts';
import type { HttpReply, TestUser } from './people.ts';

/** Adds a passkey to the account of a user. */
export async function addPasskey(
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

export const createAuthenticator = () => new SoftwareAuthenticator(publicBase);

/** Users with authenticators. */
export function createPasskeyFixture(t: Test, accounts: AccountServer) {
  const { fromNewHost } = accounts;
  const post = (path: string, body: unknown, headers: Record<string, string> = fromNewHost()) =>
    accounts.post(`/api/${path}`, body, headers);
  /** Signed-in user. */
  const createUser = async (name: string): Promise<TestUser> => {
    const user = accounts.createUser(`${name}@passkeys.example.com`);
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
  return { post, createUser, createOwner, beginSignIn, signIn };
}
