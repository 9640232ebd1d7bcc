import type { Settings } from '../../src/config/schema.ts';
import { createEgress } from '../../src/egress/create-egress.ts';
import t from '../support/tap.ts';

/** Egress from settings of which only those with hosts matter. */
function egressOf(settings: Partial<Settings>) {
  const none = {
    egress: 'configured',
    egressHosts: null,
    embeddingUrl: null,
    zembed1Url: null,
    rerankUrl: null,
    zerank2Url: null,
    chatUrl: null,
    mailUrl: null,
    googleClientId: null,
    oidcIssuer: 'https://accounts.google.com',
    githubClientId: null,

    githubBaseUrl: 'https://github.com',
    stripeSecretKey: null,
    stripeApiBase: 'https://api.stripe.com',
    awsMarketplace: false,
    awsRegion: 'us-east-1',
    awsEndpoint: null,
    awsAccessKeyId: null,

    awsTopicArns: null,
    awsSnsUrl: null,
    traceEndpoint: null,
    vercelClientId: null,
    vercelApiUrl: 'https://api.vercel.com',
    store: null,
    files: null,
    filesS3Endpoint: null,
    filesS3Region: 'eu-west-1',
    filesS3AccessKeyId: null,
  };
  const egress = createEgress({ ...none, ...settings } as unknown as Settings);
  return egress.hosts.map(({ host, port, purpose }) => `${host}:${port ?? '*'} ${purpose}`);
}

t.test('the hosts are those in the settings, and none by default', async (t) => {
  t.same(egressOf({}), []);
  const cases: readonly (readonly [Partial<Settings>, readonly string[]])[] = [
    [
      { store: 'postgres://u:p@db.example:6432/d?sslmode=verify-full', files: 'file:///shared' },
      ['db.example:6432 PostgreSQL'],
    ],
    [{ store: 'postgres://u@[::1]/d' }, ['::1:5432 PostgreSQL']],
    [
      { files: 's3://files/a', filesS3AccessKeyId: 'key' },
      ['s3.eu-west-1.amazonaws.com:443 files', 'files.s3.eu-west-1.amazonaws.com:443 files'],
    ],
    [
      { files: 's3://files/a', filesS3AccessKeyId: 'key', filesS3Endpoint: 'http://minio:9000' },
      ['minio:9000 files'],
    ],
    [
      { embeddingUrl: 'http://[::1]:8080/v1', rerankUrl: 'https://Models.example/rerank' },
      ['::1:8080 model', 'models.example:443 model'],
    ],
    [{ chatUrl: 'http://127.0.0.1:11434/v1' }, ['127.0.0.1:11434 model']],
    [{ mailUrl: 'smtp://user:password@mail.example' }, ['mail.example:587 mail']],
    [{ mailUrl: 'smtps://mail.example' }, ['mail.example:465 mail']],
    [{ mailUrl: 'file:///a/folder' }, []],
    [{ stripeSecretKey: 'sk_test_x' }, ['api.stripe.com:443 payments']],
    [{ githubClientId: 'x' }, ['github.com:443 sign-in', 'api.github.com:443 sign-in']],
    [{ githubClientId: 'x', githubBaseUrl: 'https://git.example' }, ['git.example:443 sign-in']],
    [
      { googleClientId: 'x' },
      ['accounts.google.com', 'oauth2.googleapis.com', 'www.googleapis.com'].map(
        (host) => `${host}:443 sign-in`,
      ),
    ],
    [{ traceEndpoint: 'http://collector.example:4318/v1/traces' }, ['collector.example:4318 traces']],
    [{ vercelClientId: 'x' }, ['api.vercel.com:443 Vercel']],
    [
      { awsMarketplace: true, awsAccessKeyId: 'x', awsTopicArns: 'arn:aws:sns:eu-west-1:123456789012:t' },
      ['metering.marketplace.us-east-1', 'entitlement.marketplace.us-east-1', 'sns.eu-west-1'].map(
        (name) => `${name}.amazonaws.com:443 AWS Marketplace`,
      ),
    ],
    [
      { egressHosts: 'a.example,B.example:8443,[::1]:80' },
      ['a.example:* egressHosts', 'b.example:8443 egressHosts', '::1:80 egressHosts'],
    ],
  ];
  for (const [settings, hosts] of cases) t.same(egressOf(settings), hosts, JSON.stringify(settings));
  const machine = egressOf({ awsMarketplace: true });
  t.ok(machine.includes('169.254.169.254:80 AWS Marketplace'), 'the metadata service of the machine');
});
