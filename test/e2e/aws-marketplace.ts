import t from '../support/tap.ts';
import { json, license, signUpParametersOf, topic } from './marketplace-fixture.ts';
import { marketplaces } from './marketplace-server.ts';
import { type HttpReply, sendRequest } from './people.ts';
import { snsMessage } from './sns-emulator.ts';

/** Purchases in AWS Marketplace, which is emulated. */

const {
  aws,
  bought,
  throttledRequests,
  sns,
  server,
  call,
  createOrganization,
  tierOf,
  bindSignUp,
  acme,
  other,
} = marketplaces;

function startSignUp(token: string | null, headers: Record<string, string> = {}): Promise<HttpReply> {
  const form = token === null ? '' : new URLSearchParams({ 'x-amzn-marketplace-token': token }).toString();
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  // As a buyer's browser sends it: cross-site, from a page of AWS.
  const from = { origin: 'https://aws.amazon.com', 'sec-fetch-site': 'cross-site' };
  return sendRequest(`${server.url}/api/marketplaces/aws`, {
    body: form,
    headers: { ...type, ...from, ...headers },
  });
}

t.test('an AWS buyer signs in and binds the purchase to one organization', async (t) => {
  const signUpReply = await startSignUp('one');
  t.equal(signUpReply.status, 303);
  t.match(signUpReply.headers.get('location'), /^\/app\/marketplace\?sign_up=[\w-]{43}$/);
  t.match(
    signUpReply.headers.get('set-cookie'),
    /^marketplace=[\w-]{43}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax$/,
  );
  t.equal(signUpReply.headers.get('referrer-policy'), 'no-referrer');
  const program = await startSignUp('one', json);
  t.match(program, { status: 200, body: { url: /^\/app\/marketplace\?sign_up=/ } });
  t.equal(program.body.redirect_url, program.body.url, 'the address has both field names');
  const { sign_up, cookie } = signUpParametersOf(signUpReply);
  t.match(await call('marketplaces/get-sign-up', { sign_up }, { cookie }), {
    status: 200,
    body: { marketplace: 'aws', account: '210987654321', expires_at: /^20/ },
  });
  for (const [title, answer] of Object.entries({
    'another browser': await call('marketplaces/bind', { sign_up, organization_id: acme }),
    'a guessed sign-up': await call(
      'marketplaces/bind',
      { sign_up: 'x'.repeat(43), organization_id: acme },
      { cookie },
    ),
    'an organization without members': await call(
      'marketplaces/bind',
      { sign_up, organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' },
      { cookie },
    ),
  }))
    t.equal(answer.status, 404, title);
  t.equal(await tierOf(acme), 'free');
  const body = {
    organization_id: acme,
    marketplace: 'aws',
    bought_tier: 'teams',
    subscription_tier: 'teams',
    variables: null,
    next: null,
  };
  t.match(await bindSignUp(signUpReply, acme), { status: 200, body });
  t.equal(await tierOf(acme), 'teams');
  t.match(await bindSignUp(signUpReply, acme), { status: 200, body }, 'a repeated binding is accepted');
  t.match(
    await bindSignUp(program, acme),
    { status: 200, body },
    'another sign-up of the same purchase is accepted',
  );
  t.match(await bindSignUp(program, other), { status: 409, body: { detail: /another organization/ } });
  t.equal(await tierOf(other), 'free');
  await server.restart();
  t.match(await bindSignUp(signUpReply, acme), { status: 200, body }, 'a sign-up survives a restart');
  const log = await call('organizations/get-audit-log', { organization_id: acme });
  const entries: { action: string; target: string }[] = log.body.entries;
  t.equal(entries.filter(({ action }) => action === 'marketplace.bound').length, 1);
  t.same(aws.invalidSignatures, [], 'every request to AWS is signed');
  const entitlementRequest = aws.requests.find(({ operation }) => operation === 'GetEntitlements');
  t.match(entitlementRequest?.body, { ProductCode: 'quarry', Filter: { LICENSE_ARN: [license('one')] } });
});

t.test('errors of AWS for a token are passed on', async (t) => {
  for (const [token, status] of [
    [null, 400],
    ['', 400],
    ['expired', 400],
    ['invalid', 400],
    ['another product', 400],
    ['x'.repeat(5_000), 400],
    ['internal', 502],
    ['disabled', 502],
    ['unlicensed', 502],
  ] as const) {
    const answer = await startSignUp(token, json);
    t.equal(answer.status, status, `${token?.slice(0, 20)}: ${answer.text}`);
    t.notMatch(answer.text, /as the test wants|Exception/);
  }
  t.equal((await startSignUp('busy', json)).status, 200, 'a throttled request is retried');
  t.equal(throttledRequests(), 3);
});

/** Sends a message as Amazon SNS does; returns the status of the reply. */
async function sendSnsMessage(text: string): Promise<number> {
  const address = `${server.url}/api/marketplaces/aws/events`;
  return (await sendRequest(address, { body: text, headers: { 'content-type': 'text/plain' } })).status;
}

const SigningCertURL = `${sns.url}/sns.pem`;

const notification = (message: object) => ({
  Type: 'Notification',
  TopicArn: topic,
  SigningCertURL,
  Message: JSON.stringify(message),
});

const confirmation = {
  Type: 'SubscriptionConfirmation',
  TopicArn: topic,
  SigningCertURL,
  Token: 'x',
  Message: 'm',
  SubscribeURL: `${sns.url}/?Action=ConfirmSubscription`,
};

const notify = (message: object) => sendSnsMessage(snsMessage(notification(message)));

const firstLicenseEnded = { action: 'unsubscribe-success', license: license('one') };

const licenseUpdated = (arn: string) => ({
  'detail-type': 'License Updated - Manufacturer',
  source: 'aws.agreement-marketplace',
  detail: { license: { arn } },
});

/** Event of the AWS account in the format of the seller guide, which differs from that of ResolveCustomer. */
const accountEvent = (type: string, detail: object) => ({
  version: '0',
  'detail-type': type,
  source: 'aws.agreement-marketplace',
  region: 'us-east-1',
  detail: { catalog: 'AWSMarketplace', acceptor: { accountId: '210987654321' }, ...detail },
});

const licenseDeprovisioned = (id: string) =>
  accountEvent('License Deprovisioned - Manufacturer', {
    product: { code: 'quarry', id: 'prod-example' },
    license: { arn: `aws:license-manager:us-east-1:123456789012:${id}` },
  });

t.test('only SNS messages signed for a configured topic are accepted', async (t) => {
  const ended = notification(firstLicenseEnded);
  const late = new Date(Date.now() - 2 * 3_600_000).toISOString();
  const forgeries: Record<string, string> = {
    'not JSON': 'x',
    'not an object': '[]',
    'no signature': JSON.stringify(ended),
    'another text': snsMessage(ended, {
      wrong: { Message: JSON.stringify({ action: 'subscribe-success' }) },
    }),
    'another topic': snsMessage({ ...ended, TopicArn: `${topic}x` }),
    'a certificate of another host': snsMessage({ ...ended, SigningCertURL: 'https://evil.example/sns.pem' }),
    'a certificate of a host with a similar address': snsMessage({
      ...ended,
      SigningCertURL: `${sns.url}@evil.example/sns.pem`,
    }),
    'a certificate from an API reply': snsMessage({ ...ended, SigningCertURL: `${sns.url}/?Action=x.pem` }),
    'an expired certificate': snsMessage({ ...ended, SigningCertURL: `${sns.url}/old.pem` }),
    'an old message': snsMessage({ ...ended, Timestamp: late }),
    'an invalid time': snsMessage({ ...ended, Timestamp: 'x' }),
    'an unknown signature version': snsMessage(ended, { wrong: { SignatureVersion: '3' } }),
    'an unknown type': snsMessage({ ...ended, Type: 'constructor' }),
    'a confirmation at another host': snsMessage({ ...confirmation, SubscribeURL: 'https://evil.example/' }),
  };
  for (const [title, text] of Object.entries(forgeries)) t.equal(await sendSnsMessage(text), 400, title);
  t.equal(await sendSnsMessage(snsMessage({ ...ended, SigningCertURL: `${sns.url}/broken.pem` })), 502);
  const update = notification(licenseUpdated(license('one')));
  t.equal(await sendSnsMessage(snsMessage(update, { version: '1' })), 400, 'a SHA-1 signature is rejected');
  t.equal(await tierOf(acme), 'teams', 'rejected messages have no effect');
});

t.test('an SNS subscription is confirmed, and its end is only logged', async (t) => {
  t.equal(await sendSnsMessage(snsMessage(confirmation)), 200);
  t.same(sns.confirmed, ['/?Action=ConfirmSubscription']);
  t.equal(await sendSnsMessage(snsMessage({ ...confirmation, Type: 'UnsubscribeConfirmation' })), 200);
  t.equal(sns.confirmed.length, 1, 'the end of a subscription is not confirmed');
});

t.test('an updated license changes the tier', async (t) => {
  const updated = licenseUpdated(license('one'));
  bought[license('one')] = 'small';
  t.equal(await notify(licenseUpdated(license('on'))), 200);
  t.equal(await tierOf(acme), 'teams', 'an update of another license has no effect');
  t.equal(await notify(updated), 200);
  t.equal(await tierOf(acme), 'starter', 'a smaller purchase lowers the tier');
  bought[license('one')] = 'over';
  t.equal(await sendSnsMessage(snsMessage({ ...notification(updated), Subject: 'A subject' })), 200);
  t.equal(await tierOf(acme), 'free', 'expired entitlements grant nothing');
  bought[license('one')] = 'large';
  t.equal(await notify(updated), 200);
  t.equal(await tierOf(acme), 'teams');
});

t.test('the highest tier of the licenses of an organization applies, until the last one ends', async (t) => {
  t.match(await bindSignUp(await startSignUp('two'), acme), {
    status: 200,
    body: { bought_tier: 'starter', subscription_tier: 'teams' },
  });
  t.equal(await tierOf(acme), 'teams', 'the higher of two tiers applies');
  t.equal(await notify(firstLicenseEnded), 200);
  t.equal(await tierOf(acme), 'starter', 'the other license applies');
  t.equal(await notify(firstLicenseEnded), 200, 'a repeated message is accepted');
  t.equal(await notify(licenseDeprovisioned('l-others')), 200);
  t.equal(await tierOf(acme), 'starter', 'an unbound license of the same account has no effect');
  bought[license('two')] = 'large';
  const agreement = { id: 'agmt-example', status: 'ACTIVE', intent: 'AMEND' };
  t.equal(await notify(accountEvent('Purchase Agreement Amended - Proposer', { agreement })), 200);
  t.equal(await tierOf(acme), 'teams', 'after an event that names only the customer, AWS is queried');
  t.equal(await notify(accountEvent('Purchase Agreement Ended - Proposer', { agreement })), 200);
  t.equal(await tierOf(acme), 'teams', 'the end of a replaced agreement has no effect');
  t.equal(await notify(licenseDeprovisioned('l-two')), 200);
  t.equal(await tierOf(acme), 'free');
  t.match(await bindSignUp(await startSignUp('one'), acme), {
    status: 200,
    body: { subscription_tier: 'teams' },
  });
  t.equal(await tierOf(acme), 'teams', 'an ended agreement can be bound again');
});

t.test('the end of a purchase that names only the customer ends one of its agreements', async (t) => {
  const third = await createOrganization('Third');
  for (const name of ['old-1', 'old-2']) bought[license(name)] = 'small';
  for (const name of ['old-1', 'old-2'])
    t.equal((await bindSignUp(await startSignUp(name), third)).status, 200);
  const ended = { action: 'unsubscribe-success', 'customer-identifier': 'X01EXAMPLE' };
  const endPurchaseOf = async (product: string) =>
    t.equal(await notify({ ...ended, 'product-code': product }), 200);
  await endPurchaseOf('another');
  await endPurchaseOf('quarry');
  t.equal(await tierOf(third), 'starter', 'of two agreements, AWS is queried for the ended one');
  delete bought[license('old-1')];
  await endPurchaseOf('quarry');
  t.equal(await tierOf(third), 'starter');
  const deprovisioned = { license: { arn: license('old-1') } };
  t.equal(await notify(accountEvent('License Deprovisioned - Manufacturer', deprovisioned)), 200);
  await endPurchaseOf('another');
  t.equal(await tierOf(third), 'starter', 'the end of another product has no effect');
  await endPurchaseOf('quarry');
  t.equal(await tierOf(third), 'free', 'the only remaining agreement ends without a query');
});

t.test('only an address that sends too many messages is limited', async (t) => {
  const flood = (path: string, from: string) =>
    sendRequest(`${server.url}/api/marketplaces/${path}/events`, {
      body: '{}',
      headers: { 'x-forwarded-for': from },
    });
  const statuses = new Set<number>();
  for (let i = 0; i < 12; i += 1)
    for (const { status } of await Promise.all(Array.from({ length: 10 }, () => flood('aws', '10.9.8.7'))))
      statuses.add(status);
  t.same([...statuses], [400]);
  for (const path of ['aws', 'vercel']) {
    const answer = await flood(path, '10.9.8.7');
    t.match(answer, { status: 429, body: { detail: /Too many marketplace messages/ } });
    t.ok(Number(answer.headers.get('retry-after')) > 0);
    t.equal((await flood(path, '10.9.8.8')).status, 400, 'another address is not limited');
  }
});
