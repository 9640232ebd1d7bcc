import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { awsKey, startAwsEmulator } from './aws-emulator.ts';
import { BillingFixture } from './billing-fixture.ts';
import { freePort } from './free-port.ts';

/**
 * The server of `billing.test.ts`: its scenarios have the same configuration, with two marketplaces, and owners of their
 * own.
 */

t.setTimeout(testFileMsMax);

export const vercelSecret = 'a-secret-that-vercel-knows';

/** Emulated Vercel that uses the code of a sign-up as the installation id; returns its address. */
async function startVercelEmulator(): Promise<string> {
  const vercel = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => (text += part));
    request.on('end', () => {
      const installation_id = new URLSearchParams(text).get('code');
      const token = { access_token: 'a-token', token_type: 'Bearer', team_id: 'team_1', user_id: 'user_1' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...token, installation_id }));
    });
  }).listen(0, '127.0.0.1');
  await once(vercel, 'listening');
  t.teardown(() => vercel.close());
  return `http://127.0.0.1:${(vercel.address() as AddressInfo).port}`;
}

const license = (name: string) => `arn:aws:license-manager::123456789012:license:l-${name}`;
const aws = await startAwsEmulator(t, ({ body }) => ({
  body: {
    CustomerAWSAccountId: '210987654321',
    ProductCode: 'quarry',
    LicenseArn: license(body.RegistrationToken),
  },
}));

const port = await freePort();
export const fixture = await BillingFixture.start(t, '2027-03-10T12:00:00Z', {
  PORT: String(port),
  BASE_URL: `http://127.0.0.1:${port}`,
  VERCEL_CLIENT_ID: 'oac_1',
  VERCEL_CLIENT_SECRET: vercelSecret,
  VERCEL_API_URL: await startVercelEmulator(),
  VERCEL_TIER: 'teams',
  AWS_MARKETPLACE: 'true',
  AWS_ENDPOINT: aws.url,
  AWS_ACCESS_KEY_ID: awsKey.id,
  AWS_SECRET_ACCESS_KEY: awsKey.secret,
  AWS_TIER: 'starter',
  AWS_DIMENSIONS: 'embed_tokens/1000=embed_1k',
});
