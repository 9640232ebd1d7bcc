import { AuditLog } from '../../src/audit/audit-log.ts';
import { highestMarketplaceTier } from '../../src/billing/effective-tiers.ts';
import { AppError } from '../../src/core/app-error.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Sealer } from '../../src/core/sealer.ts';
import { Agreements } from '../../src/marketplaces/agreements.ts';
import { Marketplaces } from '../../src/marketplaces/marketplaces.ts';
import { VercelApi } from '../../src/marketplaces/vercel-api.ts';
import { VercelVariables } from '../../src/marketplaces/vercel-variables.ts';
import type { AwsOffer, MarketplaceAgreement } from '../../src/storage/marketplaces.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { Tier } from '../../src/storage/organizations.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { localEgress } from '../local-egress.ts';
import t from '../support/tap.ts';

/** State that a crash leaves between two steps, and conflicts of concurrent operations. */

const organizationId = '00000000-0000-4000-8000-000000000001';
const signal = new AbortController().signal;

/** A sealer whose key a test replaces. */
function createRotatingSealer(initial: Sealer) {
  let current = initial;
  const sealer = {
    seal: (text: string, boundTo: string) => current.seal(text, boundTo),
    open: (sealed: Uint8Array, boundTo: string) => current.open(sealed, boundTo),
  } as Sealer;
  const rotate = (next: Sealer) => {
    current = next;
  };
  return { sealer, rotate };
}

/** Variables of an emulated Vercel with two projects; `vercelBehavior` says whether it accepts them. */
function createVercelVariables(agreements: Agreements, sealer: Sealer) {
  const vercelBehavior: { accepts: boolean } = { accepts: false };
  const projects: Record<string, string> = {};
  /** State of each issued key. */
  const keys: ('valid' | 'revoked')[] = [];
  const variables = new VercelVariables({
    agreements,
    sealer,
    logger: silentLogger,
    baseUrl: () => 'https://quarry.example.com/v1',
    api: {
      listProjects: async () => ['prj_1', 'prj_2'],
      renewToken: async () => 'another-token',
      setVariables: async ({ token }, id, { ZEROENTROPY_API_KEY: key }) => {
        if (!vercelBehavior.accepts) throw new AppError('bad_gateway', 'Vercel does not answer.');
        projects[id] = `${token} ${key}`;
      },
    },
    keys: {
      issue: async () => `key-${keys.push('valid')}`,
      revoke: async () => void keys.fill('revoked'),
      isValid: (secret) => keys[Number(secret.slice(4)) - 1] === 'valid',
    },
  });
  const settings = {
    clientId: 'oac',
    clientSecret: 's',
    apiUrl: 'http://127.0.0.1:1',
    nextHosts: new Set<string>(),
    redirectUri: () => '',
    fetch: localEgress.fetch,
  };
  const vercel = { api: new VercelApi(settings), variables, tier: 'starter' as const };
  return { vercel, vercelBehavior, projects, keys };
}

/** AWS without metering; it has a tier only for the licenses in `entitled`. */
function createAws() {
  const entitled: Record<string, Tier> = {};
  const metering = {
    isEnabled: false,
    currentHour: 0,
    closeCompleteHours: async () => {},
    closeHoursBefore: async () => {},
    reportHours: async () => new Set<string>(),
    warnOfOtherSources: async () => {},
  };
  const client = {
    resolveCustomer: () => Promise.reject(new Error('no test resolves a customer')),
    tierOf: async ({ licenseArn }: AwsOffer) => {
      const tier = entitled[licenseArn];
      if (tier === undefined) throw new AppError('bad_gateway', 'AWS sent an unexpected reply.');
      return tier;
    },
  };
  return { aws: { client, metering, snsReceiver: null }, entitled };
}

/** Functions that store agreements of the organization. */
function agreementWriters(agreements: Agreements, sealer: Sealer) {
  const empty = { boundAt: 0, endedAt: null, granted: null, hour: 0, carried: {} } as const;
  const put = async (installationId: string, more: Partial<MarketplaceAgreement>) => {
    const offer = {
      marketplace: 'vercel',
      installationId,
      teamId: null,
      userId: null,
      next: 'https://vercel.com/',
      sealedToken: sealer.seal('a-token', installationId),
    } as const;
    const agreement = { ...empty, offer, organizationId, tier: 'starter', ...more } as const;
    await agreements.update(offer, () => ({ after: agreement }));
  };
  const putAws = async (licenseArn: string) => {
    const offer = {
      marketplace: 'aws',
      licenseArn,
      accountId: '1',
      productCode: 'p',
      customerId: null,
    } as const;
    await agreements.update(offer, () => ({ after: { ...empty, offer, organizationId, tier: null } }));
  };
  return { put, putAws };
}

function build() {
  const [store, clock] = [new MemoryStore(), new FakeClock()];
  const agreements = new Agreements(store);
  const sealing = new Sealer([new Uint8Array(32).fill(3)], systemRandom);
  const { sealer, rotate } = createRotatingSealer(sealing);
  const { vercel, vercelBehavior, projects, keys } = createVercelVariables(agreements, sealer);
  const { aws, entitled } = createAws();
  const granted: (Tier | null)[] = [];
  /** The next grant waits for this promise. */
  const holdWrites: { until: Promise<void> } = { until: Promise.resolve() };
  const marketplaces = new Marketplaces({
    store,
    agreements,
    clock,
    sealer: sealing,
    random: systemRandom,
    logger: silentLogger,
    audit: new AuditLog({ store, clock, random: systemRandom }),
    aws,
    cardPayments: null,
    vercel,
    applyTier: async (id) => {
      const tier = highestMarketplaceTier(await agreements.listByOrganization(id));
      const { until } = holdWrites;
      holdWrites.until = Promise.resolve();
      await until;
      granted.push(tier);
    },
    tierOf: () => null,
    checkSignUpRate: () => {},
    checkMessageRate: () => {},
  });
  const of = (installationId: string) => agreements.records.findAgreement('vercel', installationId);
  const writers = agreementWriters(agreements, sealing);
  return {
    marketplaces,
    ...writers,
    of,
    granted,
    holdWrites,
    entitled,
    projects,
    vercelBehavior,
    keys,
    sealing,
    rotate,
  };
}

t.test(
  'a tier that was bought but not granted before a crash is granted at startup or the next read',
  async (t) => {
    for (const retryPending of ['grantPendingTiers', 'grantPendingTiersOf'] as const) {
      const { marketplaces, put, of, granted } = build();
      await put('icfg_1', { tier: 'teams' });
      await marketplaces.lifecycle[retryPending](organizationId);
      await marketplaces.lifecycle[retryPending](organizationId);
      t.same(granted, ['teams'], 'the tier is granted once');
      t.equal(of('icfg_1')?.granted, 'teams');
      await put('icfg_1', { tier: 'teams', granted: 'teams', endedAt: 1 });
      await marketplaces.lifecycle[retryPending](organizationId);
      t.same(granted, ['teams', null], 'an ended tier is revoked');
    }
  },
);

t.test('concurrent grants result in the highest tier', async (t) => {
  const { marketplaces, put, granted, holdWrites } = build();
  await put('icfg_1', { tier: 'starter' });
  let go = () => {};
  holdWrites.until = new Promise((resolve) => {
    go = resolve;
  });
  const first = marketplaces.lifecycle.grantPendingTiersOf(organizationId);
  await new Promise((resolve) => setImmediate(resolve));
  await put('icfg_2', { tier: 'teams' });
  const second = marketplaces.lifecycle.grantPendingTiersOf(organizationId);
  await new Promise((resolve) => setImmediate(resolve));
  go();
  await Promise.all([first, second]);
  t.same(granted, ['starter', 'teams']);
});

t.test('a failed entitlement read of one agreement does not stop the others', async (t) => {
  const { marketplaces, putAws, entitled, granted } = build();
  for (const license of ['a', 'b', 'c']) await putAws(license);
  entitled.c = 'teams';
  await marketplaces.maintenance.refreshEntitlements(signal);
  t.same(granted, ['teams']);
});

t.test(
  'variables that Vercel did not accept are set later with the same key, until the installation ends',
  async (t) => {
    const { marketplaces, put, of, projects, vercelBehavior, keys } = build();
    await put('icfg_1', { granted: 'starter', variables: 'waiting' });
    await put('icfg_2', { granted: 'starter' });
    await put('icfg_3', { granted: 'starter', variables: 'refused' });
    await marketplaces.maintenance.setPendingVariables(signal);
    t.equal(of('icfg_1')?.variables, 'waiting');
    vercelBehavior.accepts = true;
    await marketplaces.maintenance.setPendingVariables(signal);
    await marketplaces.maintenance.setPendingVariables(signal);
    t.same(projects, { prj_1: 'a-token key-1', prj_2: 'a-token key-1' });
    t.equal(of('icfg_1')?.variables, 'set');
    t.same(keys, ['valid'], 'no other agreement gets a key');
    const { sealedKey } = of('icfg_1')!;
    t.notOk(Buffer.from(sealedKey!).includes('key-1'), 'the stored key is sealed');
    t.equal(new Sealer([new Uint8Array(32)], systemRandom).open(sealedKey!, 'icfg_1'), null);
  },
);

t.test('a token whose secret is lost is requested once more', async (t) => {
  const { marketplaces, put, of, vercelBehavior, rotate, projects } = build();
  vercelBehavior.accepts = true;
  await put('icfg_1', { granted: 'starter', variables: 'waiting' });
  await marketplaces.maintenance.setPendingVariables(signal);
  rotate(new Sealer([new Uint8Array(32).fill(5)], systemRandom));
  await put('icfg_2', { granted: 'starter', variables: 'waiting' });
  await marketplaces.maintenance.setPendingVariables(signal);
  t.equal(of('icfg_2')?.variables, 'set', 'a new token is requested from Vercel');
  t.match(projects, { prj_1: /^another-token / });
});
