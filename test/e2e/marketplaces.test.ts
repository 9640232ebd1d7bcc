import { createHmac } from 'node:crypto';
import t from 'tap';
import { testFileMsMax } from '../timeouts.ts';
import { type AwsReply, awsKey, startAwsEmulator } from './aws-emulator.ts';
import { freePort } from './free-port.ts';
import { type HttpReply, sendRequest } from './people.ts';
import { TestServer } from './server.ts';
import { snsMessage, startSnsEmulator } from './sns-emulator.ts';
import { startVercelEmulator } from './vercel-emulator.ts';

/** Sign-up through AWS Marketplace and Vercel, both emulated. */

t.setTimeout(testFileMsMax);
const license = (name: string) => `arn:aws:license-manager::123456789012:license:l-${name}`;
const topic = 'arn:aws:sns:us-east-1:123456789012:quarry';
const secret = 'a-secret-that-vercel-knows';

/** Purchased dimension of each license. */
const bought: Record<string, string> = { [license('one')]: 'large', [license('two')]: 'small' };
let throttled = 0;

const refusals: Readonly<Record<string, AwsReply>> = {
  expired: { error: 'ExpiredTokenException' },
  invalid: { error: 'InvalidTokenException' },
  internal: { error: 'InternalServiceErrorException', status: 500 },
  disabled: { error: 'DisabledApiException' },
  unlicensed: { body: { CustomerAWSAccountId: '1', ProductCode: 'quarry', CustomerIdentifier: 'x' } },
  'another product': { body: { CustomerAWSAccountId: '1', ProductCode: 'other', LicenseArn: license('x') } },
};
const aws = await startAwsEmulator(t, ({ operation, body }): AwsReply => {
  if (operation === 'GetEntitlements') {
    const entitlements = Object.entries(bought).map(([LicenseArn, Dimension]) => ({
      ...{ LicenseArn, Dimension, ProductCode: body.ProductCode, CustomerAWSAccountId: '210987654321' },
      Value: { BooleanValue: true },
      ExpirationDate: Dimension === 'over' ? 1_600_000_000 : 4_000_000_000,
    }));
    return { body: { Entitlements: entitlements } };
  }
  const token: string = body.RegistrationToken;
  if (token === 'busy' && throttled++ < 2) return { error: 'ThrottlingException' };
  const name = token === 'busy' ? 'one' : token;
  return (
    refusals[token] ?? {
      body: {
        ...{ CustomerAWSAccountId: '210987654321', ProductCode: 'quarry', LicenseArn: license(name) },
        // Purchases from before licenses existed also have this field.
        ...(name.startsWith('old') ? { CustomerIdentifier: 'X01EXAMPLE' } : {}),
      },
    }
  );
});
const sns = await startSnsEmulator(t);

const vercel = await startVercelEmulator(t);
const { exchanges, projects } = vercel;

const port = await freePort();
const server = await TestServer.start(t, {
  PORT: String(port),
  BASE_URL: `http://127.0.0.1:${port}`,
  AWS_MARKETPLACE: 'true',
  AWS_ENDPOINT: aws.url,
  AWS_ACCESS_KEY_ID: awsKey.id,
  AWS_SECRET_ACCESS_KEY: awsKey.secret,
  AWS_PRODUCT_CODES: 'quarry',
  AWS_TIERS: 'small=starter,large=teams,over=enterprise',
  AWS_TOPIC_ARNS: topic,
  AWS_SNS_URL: sns.url,
  VERCEL_CLIENT_ID: 'oac_1',
  VERCEL_CLIENT_SECRET: secret,
  VERCEL_API_URL: vercel.url,
  VERCEL_TIER: 'starter',
  TRUST_PROXY: 'true',
});
const json = { accept: 'application/json' };
const printed = /http:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '';
const session = (await sendRequest(printed, { method: 'GET', headers: json })).body.access_token;
const call = (path: string, body: object, headers: Record<string, string> = {}) =>
  sendRequest(`${server.url}/api/${path}`, {
    headers: { authorization: `Bearer ${session}`, ...headers },
    body,
  });
const found = async (name: string): Promise<string> =>
  (await call('organizations/add-organization', { name })).body.organization_id;
const [acme, other] = [await found('Acme'), await found('Other')];
const tierOf = async (organization_id: string) =>
  (await call('organizations/get-info', { organization_id })).body.organization.subscription_tier;

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
const install = (query: Record<string, string>, headers: Record<string, string> = {}) =>
  sendRequest(`${server.url}/api/marketplaces/vercel?${new URLSearchParams(query)}`, {
    method: 'GET',
    headers,
  });

/** Sign-up id and cookie that a browser sends after this reply. */
function signUpParametersOf(answer: HttpReply): { readonly sign_up: string; readonly cookie: string } {
  const address = answer.headers.get('location') ?? answer.body.url;
  return {
    sign_up: /\?sign_up=([\w-]{43})$/.exec(address)?.[1] ?? '',
    cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '',
  };
}
function bindSignUp(answer: HttpReply, organization_id: string): Promise<HttpReply> {
  const { sign_up, cookie } = signUpParametersOf(answer);
  return call('marketplaces/bind', { sign_up, organization_id }, { cookie });
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
  t.equal(program.body.redirect_url, program.body.url, 'under both names');
  const { sign_up, cookie } = signUpParametersOf(signUpReply);
  t.match(await call('marketplaces/get-sign-up', { sign_up }, { cookie }), {
    status: 200,
    body: { marketplace: 'aws', account: '210987654321', expires_at: /^20/ },
  });
  for (const [title, answer] of Object.entries({
    'another browser': await call('marketplaces/bind', { sign_up, organization_id: acme }),
    'a guess': await call(
      'marketplaces/bind',
      { sign_up: 'x'.repeat(43), organization_id: acme },
      { cookie },
    ),
    'an organization of nobody': await call(
      'marketplaces/bind',
      { sign_up, organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' },
      { cookie },
    ),
  }))
    t.equal(answer.status, 404, title);
  t.equal(await tierOf(acme), 'free');
  const body = {
    ...{ organization_id: acme, marketplace: 'aws', bought_tier: 'teams', subscription_tier: 'teams' },
    ...{ variables: null, next: null },
  };
  t.match(await bindSignUp(signUpReply, acme), { status: 200, body });
  t.equal(await tierOf(acme), 'teams');
  t.match(await bindSignUp(signUpReply, acme), { status: 200, body }, 'a double click');
  t.match(await bindSignUp(program, acme), { status: 200, body }, 'the same purchase, bound again');
  t.match(await bindSignUp(program, other), { status: 409, body: { detail: /another organization/ } });
  t.equal(await tierOf(other), 'free');
  await server.restart();
  t.match(await bindSignUp(signUpReply, acme), { status: 200, body }, 'a sign-up outlives a restart');
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
  t.equal(throttled, 3);
});

t.test('only SNS messages signed for a configured topic are accepted', async (t) => {
  const tell = (text: string) =>
    sendRequest(`${server.url}/api/marketplaces/aws/events`, {
      body: text,
      headers: { 'content-type': 'text/plain' },
    });
  const SigningCertURL = `${sns.url}/sns.pem`;
  const note = (message: object) => ({
    ...{ Type: 'Notification', TopicArn: topic, SigningCertURL },
    Message: JSON.stringify(message),
  });
  const ended = note({ action: 'unsubscribe-success', license: license('one') });
  const late = new Date(Date.now() - 2 * 3_600_000).toISOString();
  const forgeries: Record<string, string> = {
    'no JSON': 'x',
    'no object': '[]',
    'no signature': JSON.stringify(ended),
    'another text': snsMessage(ended, {
      wrong: { Message: JSON.stringify({ action: 'subscribe-success' }) },
    }),
    'another topic': snsMessage({ ...ended, TopicArn: `${topic}x` }),
    'a certificate of somebody': snsMessage({ ...ended, SigningCertURL: 'https://evil.example/sns.pem' }),
    'a certificate of a look-alike': snsMessage({
      ...ended,
      SigningCertURL: `${sns.url}@evil.example/sns.pem`,
    }),
    'an answer of an API': snsMessage({ ...ended, SigningCertURL: `${sns.url}/?Action=x.pem` }),
    'an old certificate': snsMessage({ ...ended, SigningCertURL: `${sns.url}/old.pem` }),
    'an old message': snsMessage({ ...ended, Timestamp: late }),
    'a message of no day': snsMessage({ ...ended, Timestamp: 'x' }),
    'an odd version': snsMessage(ended, { wrong: { SignatureVersion: '3' } }),
    'an odd type': snsMessage({ ...ended, Type: 'constructor' }),
    'a confirmation elsewhere': snsMessage({
      ...{ Type: 'SubscriptionConfirmation', TopicArn: topic, SigningCertURL, Token: 'x', Message: 'm' },
      SubscribeURL: 'https://evil.example/',
    }),
  };
  for (const [title, text] of Object.entries(forgeries)) t.equal((await tell(text)).status, 400, title);
  t.equal((await tell(snsMessage({ ...ended, SigningCertURL: `${sns.url}/broken.pem` }))).status, 502);
  t.equal(await tierOf(acme), 'teams', 'nothing of that did anything');
  const confirmation = {
    ...{ Type: 'SubscriptionConfirmation', TopicArn: topic, SigningCertURL, Token: 'x', Message: 'm' },
    SubscribeURL: `${sns.url}/?Action=ConfirmSubscription`,
  };
  t.equal((await tell(snsMessage(confirmation))).status, 200);
  t.same(sns.confirmed, ['/?Action=ConfirmSubscription']);
  t.equal((await tell(snsMessage({ ...confirmation, Type: 'UnsubscribeConfirmation' }))).status, 200);
  t.equal(sns.confirmed.length, 1, 'to end a subscription is nothing to confirm');

  const updated = {
    'detail-type': 'License Updated - Manufacturer',
    source: 'aws.agreement-marketplace',
    detail: { license: { arn: license('one') } },
  };
  bought[license('one')] = 'small';
  t.equal(
    (await tell(snsMessage(note({ ...updated, detail: { license: { arn: license('on') } } })))).status,
    200,
  );
  t.equal(await tierOf(acme), 'teams', 'another license');
  t.equal((await tell(snsMessage(note(updated), { version: '1' }))).status, 400, 'SHA-1 is not believed');
  t.equal((await tell(snsMessage(note(updated)))).status, 200);
  t.equal(await tierOf(acme), 'starter', 'less was bought');
  bought[license('one')] = 'over';
  t.equal((await tell(snsMessage({ ...note(updated), Subject: 'A subject' }))).status, 200);
  t.equal(await tierOf(acme), 'free', 'expired entitlements grant nothing');
  bought[license('one')] = 'large';
  t.equal((await tell(snsMessage(note(updated)))).status, 200);
  t.equal(await tierOf(acme), 'teams');

  t.match(await bindSignUp(await startSignUp('two'), acme), {
    status: 200,
    body: { bought_tier: 'starter', subscription_tier: 'teams' },
  });
  t.equal(await tierOf(acme), 'teams', 'the highest of two counts');
  t.equal((await tell(snsMessage(ended))).status, 200);
  t.equal(await tierOf(acme), 'starter', 'the other continues');
  t.equal((await tell(snsMessage(ended))).status, 200, 'sent twice');
  const event = (type: string, detail: object) =>
    note({
      ...{ version: '0', 'detail-type': type, source: 'aws.agreement-marketplace', region: 'us-east-1' },
      detail: { catalog: 'AWSMarketplace', acceptor: { accountId: '210987654321' }, ...detail },
    });
  // Format of the seller guide, which differs from that of ResolveCustomer.
  const [ofTwo, ofOthers] = ['l-two', 'l-others'].map((id) => ({
    product: { code: 'quarry', id: 'prod-example' },
    license: { arn: `aws:license-manager:us-east-1:123456789012:${id}` },
  }));
  const deprovisioned = 'License Deprovisioned - Manufacturer';
  t.equal((await tell(snsMessage(event(deprovisioned, ofOthers!)))).status, 200);
  t.equal(await tierOf(acme), 'starter', 'an unbound license of the same account');
  bought[license('two')] = 'large';
  const agreement = { id: 'agmt-example', status: 'ACTIVE', intent: 'AMEND' };
  t.equal(
    (await tell(snsMessage(event('Purchase Agreement Amended - Proposer', { agreement })))).status,
    200,
  );
  t.equal(await tierOf(acme), 'teams', 'an event that names only the customer makes the server ask');
  t.equal((await tell(snsMessage(event('Purchase Agreement Ended - Proposer', { agreement })))).status, 200);
  t.equal(await tierOf(acme), 'teams', 'a replaced agreement ends, too, as AWS reports it');
  t.equal((await tell(snsMessage(event(deprovisioned, ofTwo!)))).status, 200);
  t.equal(await tierOf(acme), 'free');
  t.match(await bindSignUp(await startSignUp('one'), acme), {
    status: 200,
    body: { subscription_tier: 'teams' },
  });
  t.equal(await tierOf(acme), 'teams', 'an ended agreement can be bound again');

  const third = await found('Third');
  for (const name of ['old-1', 'old-2']) bought[license(name)] = 'small';
  for (const name of ['old-1', 'old-2'])
    t.equal((await bindSignUp(await startSignUp(name), third)).status, 200);
  const left = { action: 'unsubscribe-success', 'customer-identifier': 'X01EXAMPLE' };
  const leaves = async (product: string) =>
    t.equal((await tell(snsMessage(note({ ...left, 'product-code': product })))).status, 200);
  await leaves('another');
  await leaves('quarry');
  t.equal(await tierOf(third), 'starter', 'which of two agreements ended is unknown, so AWS is queried');
  delete bought[license('old-1')];
  await leaves('quarry');
  t.equal(await tierOf(third), 'starter');
  t.equal((await tell(snsMessage(event(deprovisioned, { license: { arn: license('old-1') } })))).status, 200);
  await leaves('another');
  t.equal(await tierOf(third), 'starter', 'another product ended');
  await leaves('quarry');
  t.equal(await tierOf(third), 'free', 'the only one that is left has ended, whatever AWS still says');
});

t.test('the Vercel integration is installed and removed', async (t) => {
  const next = 'https://vercel.com/acme/~/integrations/quarry?x=1';
  for (const evil of [
    'https://evil.example/',
    'http://vercel.com/',
    '//vercel.com/',
    'https://vercel.com.evil.example/',
    'https://evil.example/vercel.com',
    'https://vercel.com@evil.example/',
    'https://user@vercel.com/',
    'https://vercel.com:8443/',
    'https:\\\\vercel.com/',
    'https://vercel.com\\@evil.example/',
    'https://vercel.com/\n',
    'https://api.vercel.com/',
    'javascript:alert(1)',
    '/docs',
    '',
  ])
    t.equal((await install({ code: 'good', next: evil })).status, 400, evil);
  t.same(exchanges, [], 'and its code is still good');
  t.equal((await install({ next })).status, 422);
  t.equal((await install({ code: 'good' })).status, 422);
  t.equal((await install({ code: 'used', next })).status, 400);
  t.equal((await install({ code: 'down', next })).status, 502);
  t.equal((await install({ code: 'odd', next })).status, 502);
  const signUpReply = await install({
    code: 'good',
    next,
    teamId: 'team_1',
    configurationId: 'icfg_1',
    source: 'marketplace',
  });
  t.equal(signUpReply.status, 302);
  t.same(exchanges.at(-1), {
    path: 'POST /v2/oauth/access_token',
    form: {
      client_id: 'oac_1',
      client_secret: secret,
      code: 'good',
      redirect_uri: `${server.url}/api/marketplaces/vercel`,
    },
  });
  const { sign_up, cookie } = signUpParametersOf(signUpReply);
  t.match(
    await call('marketplaces/get-sign-up', { sign_up }, { cookie }),
    {
      status: 200,
      body: { marketplace: 'vercel', account: 'the-team', account_id: 'team_1', installation_id: 'icfg_1' },
    },
    'the user sees the account of the installation',
  );
  const bound = { marketplace: 'vercel', bought_tier: 'starter', subscription_tier: 'starter', next };
  const organization_id = other;
  t.match(await call('marketplaces/bind', { sign_up, organization_id, set_variables: false }, { cookie }), {
    status: 200,
    body: { ...bound, variables: null },
  });
  t.equal(await tierOf(other), 'starter');
  t.equal(vercel.requestCount('/v10/projects'), 0, 'no variables are set unless requested');
  t.match(await bindSignUp(await install({ code: 'good', next }), acme), { status: 409 });
  t.same(projects.prj_1, {});

  const heldKeys = async () => {
    const { api_keys } = (await call('organizations/get-info', { organization_id })).body;
    return api_keys.filter(({ created_by }: { created_by: string }) => created_by === 'vercel:icfg_1');
  };
  vercel.variablesReply = { status: 503, body: {} };
  t.match(await bindSignUp(signUpReply, other), { status: 200, body: { ...bound, variables: 'waiting' } });
  vercel.variablesReply = { status: 403, body: {} };
  t.match(await bindSignUp(signUpReply, other), { status: 200, body: { ...bound, variables: 'refused' } });
  vercel.variablesReply = {
    status: 201,
    body: { created: [], failed: [{ error: { code: 'ENV_CONFLICT' } }] },
  };
  t.match(await bindSignUp(signUpReply, other), { status: 200, body: { variables: 'refused' } });
  t.match(await heldKeys(), [{ permission: 'all', name: 'Vercel' }], 'one key, however often it is tried');
  vercel.variablesReply = { status: 201, body: { created: [], failed: [] } };
  t.match(await bindSignUp(signUpReply, other), { status: 200, body: { ...bound, variables: 'set' } });
  const { ZEROENTROPY_API_KEY: key, ZEROENTROPY_BASE_URL: base } = projects.prj_3!;
  t.equal(base, `${server.url}/v1`);
  const collections = () =>
    sendRequest(`${base}/collections/get-collection-list`, {
      headers: { authorization: `Bearer ${key}` },
      body: {},
    });
  t.equal((await collections()).status, 200, 'the key in the projects is valid for the organization');
  for (const id of ['prj_1', 'prj_2']) t.same(projects[id], projects.prj_3);

  const hook = (body: string, signature?: string) =>
    sendRequest(`${server.url}/api/marketplaces/vercel/events`, {
      body,
      headers: {
        'content-type': 'application/json',
        ...(signature === undefined ? {} : { 'x-vercel-signature': signature }),
      },
    });
  const signed = (body: string, key = secret) => createHmac('sha1', key).update(body).digest('hex');
  const removed = JSON.stringify({
    type: 'integration-configuration.removed',
    payload: { configuration: { id: 'icfg_1' }, team: { id: 'team_1' } },
  });
  for (const forged of [
    undefined,
    '',
    'x',
    signed(removed, 'guessed'),
    signed(`${removed} `),
    'é'.repeat(40),
  ])
    t.equal((await hook(removed, forged === 'é'.repeat(40) ? 'zz'.repeat(20) : forged)).status, 400);
  const unknown = removed.replace('icfg_1', 'icfg_2');
  t.equal((await hook(unknown, signed(unknown))).status, 200, 'of another installation');
  const another = JSON.stringify({ type: 'deployment.created', payload: {} });
  t.equal((await hook(another, signed(another))).status, 200);
  t.equal(await tierOf(other), 'starter');
  projects.prj_4 = {};
  const widened = removed.replace('.removed', '.scope-change-confirmed');
  t.equal((await hook(widened, signed(widened))).status, 200);
  t.same(projects.prj_4, projects.prj_3, 'a project that is chosen later gets the same');
  vercel.token = 'the-token-of-the-next-hour';
  const entitlementRequest = exchanges.length;
  for (const project of ['prj_5', 'prj_6']) {
    projects[project] = {};
    t.equal((await hook(widened, signed(widened))).status, 200);
    t.same(projects[project], projects.prj_3, 'also when the token has expired');
  }
  t.equal(exchanges.length, entitlementRequest + 1, 'Vercel is asked for another token once');
  t.equal((await heldKeys()).length, 1);
  const [{ id: api_key_id }] = await heldKeys();
  t.equal((await call('organizations/api-keys/delete-api-key', { organization_id, api_key_id })).status, 200);
  t.match(
    await bindSignUp(await install({ code: 'good', next }), other),
    { status: 200 },
    'installed once more',
  );
  t.not(projects.prj_1!.ZEROENTROPY_API_KEY, key, 'a key that an owner ended is not set again');
  t.equal((await heldKeys()).length, 1);
  t.equal((await hook(removed, signed(removed))).status, 200);
  t.same(await heldKeys(), [], 'the key ends with the installation');
  const before = vercel.requestCount('');
  t.equal((await hook(widened, signed(widened))).status, 200);
  t.equal(vercel.requestCount(''), before, 'and the token of Vercel is discarded');
  t.equal((await hook(removed, signed(removed))).status, 200, 'sent twice');
  t.equal(await tierOf(other), 'free');
  const actions = (await call('organizations/get-audit-log', { organization_id: other })).body.entries;
  t.match(
    actions
      .map(({ action }: { action: string }) => action)
      .filter((action: string) => /^market/.test(action)),
    ['marketplace.ended', 'marketplace.bound'],
  );
});

t.test('an address that floods the server with messages is limited, and no other', async (t) => {
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
    t.equal((await flood(path, '10.9.8.8')).status, 400, 'of another host');
  }
});

t.test('the log contains no credential', async (t) => {
  await server.stop();
  const log = server.fullLog;
  t.match(log, /SNS subscription removed/, 'but the removed subscription is logged');
  const keys = Object.values(projects).map((each) => each.ZEROENTROPY_API_KEY!);
  for (const hidden of [secret, awsKey.secret, 'the-token-of-vercel', session, ...keys])
    t.notOk(log.includes(hidden));
});
