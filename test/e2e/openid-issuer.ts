import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import type { Test } from '../support/tap.ts';

/** Identity providers on the loopback interface. */

export async function listenOnLoopback(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** OpenID provider. Logins are e-mail addresses; those that start with "new" are not verified. */
export async function openIdIssuer(t: Test, redirectUri: string): Promise<string> {
  let callback: RequestListener = () => undefined;
  const issuer = await listenOnLoopback(t, (request, response) => {
    if (request.url === '/favicon.ico') response.writeHead(204).end();
    else callback(request, response);
  });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'quarry',
        client_secret: 'a-secret-between-the-two',
        redirect_uris: [redirectUri],
        application_type: 'native',
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id.split('|')[0], email_verified: !id.startsWith('new') }),
    }),
  });
  callback = provider.callback();
  return issuer;
}
