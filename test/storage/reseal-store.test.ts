import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Sealer } from '../../src/core/sealer.ts';
import { openDataDirectory } from '../../src/storage/data-directory.ts';
import {
  deriveSecrets,
  type SecretPurpose,
  writeInstallationSecrets,
} from '../../src/storage/installation-secrets.ts';
import { MarketplaceRecords, type VercelOffer } from '../../src/storage/marketplaces.ts';
import { SecondFactorRecords } from '../../src/storage/second-factors.ts';
import { credentialsContext, type SourceRecord, Sources } from '../../src/storage/sources.ts';
import type { Store } from '../../src/storage/store.ts';
import { Webhooks } from '../../src/storage/webhooks.ts';
import t from '../support/tap.ts';
import { webhookTo } from '../webhooks/webhook-fixture.ts';

const userId = '00000000-0000-4000-8000-000000000001';
const organizationId = '00000000-0000-4000-8000-000000000002';
const sourceId = '00000000-0000-4000-8000-000000000003';
const installationId = 'icfg_1';
const webhook = webhookTo('https://example.com/');

type Seal = (text: string, purpose: SecretPurpose, context: string) => Uint8Array;

function sealWith(secret: Uint8Array): Seal {
  return (text, purpose, context) =>
    new Sealer(deriveSecrets([secret], purpose), systemRandom).seal(text, context);
}

const source: SourceRecord = {
  sourceId,
  organizationId,
  name: 'docs',
  collectionId: organizationId,
  kind: 's3',
  settings: {},
  credentials: null,
  prefix: '',
  schedule: 'off',
  isWatched: false,
  metadata: {},
  revision: 0,
  isPaused: false,
  createdAt: 0,
};

const offer: Omit<VercelOffer, 'sealedToken'> = {
  marketplace: 'vercel',
  installationId,
  teamId: null,
  userId: null,
  next: 'https://vercel.com/',
};

/** Stores one value of each kind, all with the text of their kind. */
async function putSealedValues(store: Store, seal: Seal): Promise<void> {
  const secondFactor = { binding: '', enabledAt: 1, lastStep: 7, recoveryHashes: ['a'] };
  const secrets = [1, 2].map((expiresAt) => ({
    sealed: seal('webhook', 'webhooks', webhook.webhookId),
    expiresAt,
  }));
  await store.write([
    new SecondFactorRecords(store).put(userId, {
      ...secondFactor,
      sealedSecret: seal('factor', 'second-factors', userId),
    }),
    new Webhooks(store).put({ ...webhook, secrets }),
    new Sources(store).put({
      ...source,
      credentials: seal('source', 'sources', credentialsContext(sourceId)),
    }),
    ...new MarketplaceRecords(store).putAgreement({
      offer: { ...offer, sealedToken: seal('token', 'marketplaces', installationId) },
      organizationId,
      boundAt: 0,
      endedAt: null,
      tier: 'starter',
      granted: 'starter',
      hour: 0,
      carried: {},
      sealedKey: seal('key', 'marketplaces', installationId),
    }),
  ]);
}

/** Returns the texts that this secret opens; null for the others. */
async function openSealedValues(store: Store, secret: Uint8Array) {
  const open = (sealed: Uint8Array | null | undefined, purpose: SecretPurpose, context: string) =>
    new Sealer(deriveSecrets([secret], purpose), systemRandom).open(sealed!, context);
  const { secrets } = new Webhooks(store).find(webhook.organizationId, webhook.webhookId)!;
  const [agreement] = await new MarketplaceRecords(store).listAgreements('vercel');
  const { sealedToken } = agreement!.offer as VercelOffer;
  return [
    open(new SecondFactorRecords(store).get(userId)?.sealedSecret, 'second-factors', userId),
    ...secrets.map(({ sealed }) => open(sealed, 'webhooks', webhook.webhookId)),
    open(
      new Sources(store).find(organizationId, 'docs')?.credentials,
      'sources',
      credentialsContext(sourceId),
    ),
    open(sealedToken, 'marketplaces', installationId),
    open(agreement!.sealedKey, 'marketplaces', installationId),
  ];
}

const texts = ['factor', 'webhook', 'webhook', 'source', 'token', 'key'];

t.test('a start encrypts stored secrets with the current secret, and removes retired ones', async (t) => {
  const path = join(t.testdir(), 'data');
  const options = { path, reserveBytes: 0, logger: silentLogger, random: systemRandom };
  const open = () => openDataDirectory(options);
  const [first, second, third] = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  await (await open()).close();
  writeInstallationSecrets(path, { secrets: [first], retired: [] });
  const before = await open();
  await putSealedValues(before.store, sealWith(first));
  await before.close();

  writeInstallationSecrets(path, { secrets: [second, first], retired: [] });
  const rotated = await open();
  t.same(
    rotated.secrets.map((each) => Buffer.from(each)),
    [second, first].map((each) => Buffer.from(each)),
    'the earlier one stays',
  );
  t.same(await openSealedValues(rotated.store, second), texts);
  await rotated.close();

  writeInstallationSecrets(path, { secrets: [third], retired: [second, first] });
  const retired = await open();
  t.same(
    retired.secrets.map((each) => Buffer.from(each)),
    [Buffer.from(third)],
  );
  t.same(await openSealedValues(retired.store, third), texts);
  const factor = new SecondFactorRecords(retired.store).get(userId);
  t.match(factor, { lastStep: 7, recoveryHashes: ['a'] }, 'the other fields stay');
  t.same(Object.keys(JSON.parse(readFileSync(join(path, 'secrets.json'), 'utf8'))), ['secret']);
  await retired.close();

  writeInstallationSecrets(path, { secrets: [first], retired: [second] });
  const lost = await open();
  t.same(await openSealedValues(lost.store, third), texts, 'values of an unknown secret stay as they are');
  await lost.close();
  t.notOk(existsSync(join(path, 'secrets.json.new')));
});
