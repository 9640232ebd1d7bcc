import type { Test } from '../support/tap.ts';
import { type AwsReply, awsKey, startAwsEmulator } from './aws-emulator.ts';
import { freePort } from './free-port.ts';
import { type HttpReply, sendRequest } from './people.ts';
import { TestServer } from './server.ts';
import { startSnsEmulator } from './sns-emulator.ts';
import { startVercelEmulator } from './vercel-emulator.ts';

/** A server that sells through AWS Marketplace and Vercel, both emulated, with two organizations. */

export const license = (name: string) => `arn:aws:license-manager::123456789012:license:l-${name}`;
export const topic = 'arn:aws:sns:us-east-1:123456789012:quarry';
export const vercelSecret = 'a-secret-that-vercel-knows';
export const json = { accept: 'application/json' };

const errorReplies: Readonly<Record<string, AwsReply>> = {
  expired: { error: 'ExpiredTokenException' },
  invalid: { error: 'InvalidTokenException' },
  internal: { error: 'InternalServiceErrorException', status: 500 },
  disabled: { error: 'DisabledApiException' },
  unlicensed: { body: { CustomerAWSAccountId: '1', ProductCode: 'quarry', CustomerIdentifier: 'x' } },
  'another product': { body: { CustomerAWSAccountId: '1', ProductCode: 'other', LicenseArn: license('x') } },
};

/** AWS with the entitlements of one customer. The token `busy` is throttled twice. */
async function startAwsSeller(t: Test) {
  /** Purchased dimension of each license. */
  const bought: Record<string, string> = { [license('one')]: 'large', [license('two')]: 'small' };
  let throttled = 0;
  const aws = await startAwsEmulator(t, ({ operation, body }): AwsReply => {
    if (operation === 'GetEntitlements') {
      const entitlements = Object.entries(bought).map(([LicenseArn, Dimension]) => ({
        LicenseArn,
        Dimension,
        ProductCode: body.ProductCode,
        CustomerAWSAccountId: '210987654321',
        Value: { BooleanValue: true },
        ExpirationDate: Dimension === 'over' ? 1_600_000_000 : 4_000_000_000,
      }));
      return { body: { Entitlements: entitlements } };
    }
    const token: string = body.RegistrationToken;
    if (token === 'busy' && throttled++ < 2) return { error: 'ThrottlingException' };
    const name = token === 'busy' ? 'one' : token;
    return (
      errorReplies[token] ?? {
        body: {
          CustomerAWSAccountId: '210987654321',
          ProductCode: 'quarry',
          LicenseArn: license(name),
          // Purchases from before licenses existed also have this field.
          ...(name.startsWith('old') ? { CustomerIdentifier: 'X01EXAMPLE' } : {}),
        },
      }
    );
  });
  return { aws, bought, throttledRequests: () => throttled };
}

export async function startMarketplaces(t: Test) {
  const seller = await startAwsSeller(t);
  const sns = await startSnsEmulator(t);
  const vercel = await startVercelEmulator(t);
  const port = await freePort();
  const server = await TestServer.start(t, {
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    AWS_MARKETPLACE: 'true',
    AWS_ENDPOINT: seller.aws.url,
    AWS_ACCESS_KEY_ID: awsKey.id,
    AWS_SECRET_ACCESS_KEY: awsKey.secret,
    AWS_PRODUCT_CODES: 'quarry',
    AWS_TIERS: 'small=starter,large=teams,over=enterprise',
    AWS_TOPIC_ARNS: topic,
    AWS_SNS_URL: sns.url,
    VERCEL_CLIENT_ID: 'oac_1',
    VERCEL_CLIENT_SECRET: vercelSecret,
    VERCEL_API_URL: vercel.url,
    VERCEL_TIER: 'starter',
    TRUST_PROXY: 'true',
  });
  const printed = /http:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '';
  const session: string = (await sendRequest(printed, { method: 'GET', headers: json })).body.access_token;
  const call = (path: string, body: object, headers: Record<string, string> = {}) =>
    sendRequest(`${server.url}/api/${path}`, {
      headers: { authorization: `Bearer ${session}`, ...headers },
      body,
    });
  const createOrganization = async (name: string): Promise<string> =>
    (await call('organizations/add-organization', { name })).body.organization_id;
  const tierOf = async (organization_id: string) =>
    (await call('organizations/get-info', { organization_id })).body.organization.subscription_tier;
  const bindSignUp = (answer: HttpReply, organization_id: string): Promise<HttpReply> => {
    const { sign_up, cookie } = signUpParametersOf(answer);
    return call('marketplaces/bind', { sign_up, organization_id }, { cookie });
  };
  const [acme, other] = [await createOrganization('Acme'), await createOrganization('Other')];
  /** Credentials that no log may have. */
  const credentials = () => [
    ...[vercelSecret, awsKey.secret, 'the-token-of-vercel', session],
    ...Object.values(vercel.projects).map((each) => each.ZEROENTROPY_API_KEY!),
  ];
  return {
    ...seller,
    sns,
    vercel,
    server,
    call,
    createOrganization,
    tierOf,
    bindSignUp,
    acme,
    other,
    credentials,
  };
}

/** Sign-up id and cookie that a browser sends after this reply. */
export function signUpParametersOf(answer: HttpReply): { readonly sign_up: string; readonly cookie: string } {
  const address = answer.headers.get('location') ?? answer.body.url;
  return {
    sign_up: /\?sign_up=([\w-]{43})$/.exec(address)?.[1] ?? '',
    cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '',
  };
}
