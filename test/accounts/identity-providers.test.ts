import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { createOpenIdProvider } from '../../src/accounts/identity-providers.ts';
import { AppError } from '../../src/core/app-error.ts';
import { localEgress } from '../local-egress.ts';
import t from '../support/tap.ts';

/** An issuer that signs arbitrary tokens, and the validation of its identities. */

const clientId = 'quarry';
const checks = { state: 'the-state', nonce: 'the-nonce', verifier: 'v'.repeat(43) };
const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
const foreignKeys = await generateKeyPair('RS256');
const jwk = { ...(await exportJWK(publicKey)), kid: 'the-key', alg: 'RS256', use: 'sig' };
const publicPem = await exportSPKI(publicKey);

let idToken = '';
const server = createServer((request, response) => {
  const issuer = `http://${request.headers.host}`;
  const reply = (body: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (request.url === '/.well-known/openid-configuration')
    return reply({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    });
  if (request.url === '/keys') return reply({ keys: [jwk] });
  return reply({ access_token: 'a', token_type: 'bearer', id_token: idToken });
}).listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => server.close());
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const provider = createOpenIdProvider({
  clientId,
  clientSecret: 'secret',
  baseUrl: issuer,
  fetch: localEgress.fetch,
});

const now = Math.floor(Date.now() / 1_000);
const claims = {
  iss: issuer,
  aud: clientId,
  sub: '4711',
  exp: now + 600,
  iat: now,
  nonce: checks.nonce,
  email: 'ada@example.com',
  email_verified: true,
};

function signIdToken(changes: object = {}, key = privateKey): Promise<string> {
  return new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ alg: 'RS256', kid: 'the-key' })
    .sign(key);
}

function verifyCallback(
  token: string,
  query: Record<string, string> = {},
): ReturnType<typeof provider.identify> {
  idToken = token;
  const returned = new URL('https://quarry.example.com/api/auth/google/auth');
  for (const [name, value] of Object.entries({ code: 'c', state: checks.state, iss: issuer, ...query }))
    if (value !== '') returned.searchParams.set(name, value);
  return provider.identify(returned, checks);
}

t.test('an ID token signed for this sign-in is accepted', async (t) => {
  t.same(await verifyCallback(await signIdToken()), {
    issuer,
    subject: '4711',
    email: 'ada@example.com',
    emailVerified: true,
  });
  t.match(await verifyCallback(await signIdToken({ email_verified: 'true' })), { emailVerified: false });
  t.match(await verifyCallback(await signIdToken({ email_verified: undefined })), { emailVerified: false });
});

t.test(
  'an ID token of another sign-in, for another client, or without a valid signature is rejected',
  async (t) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const [, payload = ''] = (await signIdToken()).split('.');
    const withPublicKey = new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'the-key' })
      .sign(Buffer.from(publicPem));
    const forgeries: Record<string, string> = {
      'a nonce of another sign-in': await signIdToken({ nonce: 'replayed' }),
      'no nonce': await signIdToken({ nonce: undefined }),
      'another client': await signIdToken({ aud: 'somebody-else' }),
      'two audiences, authorized for another client': await signIdToken({
        aud: [clientId, 'x'],
        azp: 'x',
      }),
      'another issuer': await signIdToken({ iss: 'https://evil.example' }),
      expired: await signIdToken({ exp: now - 3_600, iat: now - 7_200 }),
      'no expiry': await signIdToken({ exp: undefined }),
      'no subject': await signIdToken({ sub: undefined }),
      'an unknown signing key': await signIdToken({}, foreignKeys.privateKey),
      'no algorithm': `${part({ alg: 'none' })}.${payload}.`,
      'the public key as an HMAC secret': await withPublicKey,
      'a changed address': `${(await signIdToken()).split('.')[0]}.${part({ ...claims, email: 'eve@example.com' })}.${(await signIdToken()).split('.')[2]}`,
      'no token': '',
    };
    for (const [what, token] of Object.entries(forgeries)) {
      const outcome = await verifyCallback(token).catch((error: unknown) => error);
      t.ok(outcome instanceof AppError, `${what}: ${JSON.stringify(outcome)}`);
      t.match(outcome, { status: /^(400|502)$/ }, what);
    }
  },
);

t.test('a callback with a missing or wrong issuer, or a wrong state, is rejected', async (t) => {
  const token = await signIdToken();
  for (const query of [{ iss: '' }, { iss: 'https://evil.example' }, { state: 'another' }, { state: '' }]) {
    const outcome = await verifyCallback(token, query).catch((error: unknown) => error);
    t.match(outcome, { status: 400 }, JSON.stringify(query));
  }
});
