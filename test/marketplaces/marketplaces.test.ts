import t from 'tap';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { AppError } from '../../src/base/app-error.ts';
import { systemChance } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { Sealing } from '../../src/base/sealing.ts';
import { boughtTier } from '../../src/billing/effective-tier.ts';
import { Agreements } from '../../src/marketplaces/agreements.ts';
import { Marketplaces } from '../../src/marketplaces/marketplaces.ts';
import { VercelApi } from '../../src/marketplaces/vercel-api.ts';
import { VercelVariables } from '../../src/marketplaces/vercel-variables.ts';
import type { Agreement, AwsOffer } from '../../src/store/marketplaces.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import type { Tier } from '../../src/store/organisations.ts';
import { FakeTime } from '../admission/fake-time.ts';
import { localEgress } from '../any-egress.ts';

/** What a crash leaves between two steps, and what two things at once may not do to each other. */

const organizationId = '00000000-0000-4000-8000-000000000001';
const signal = new AbortController().signal;

function build() {
  const [store, clock] = [new MemoryStore(), new FakeTime()];
  const agreements = new Agreements(store);
  const sealing = new Sealing([new Uint8Array(32).fill(3)], systemChance);
  let current = sealing;
  const rotating = {
    seal: (text: string, boundTo: string) => current.seal(text, boundTo),
    open: (sealed: Uint8Array, boundTo: string) => current.open(sealed, boundTo),
    isCurrent: (sealed: Uint8Array, boundTo: string) => current.isCurrent(sealed, boundTo),
  } as Sealing;
  const rotate = (next: Sealing) => {
    current = next;
  };
  const granted: (Tier | null)[] = [];
  /** What the next grant waits for. */
  const hold: { until: Promise<void> } = { until: Promise.resolve() };
  const projects: Record<string, string> = {};
  const vercelSays: { answer: 'well' | 'not' } = { answer: 'not' };
  const held: string[] = [];
  const variables = new VercelVariables({
    ...{ agreements, sealing: rotating, logger: silentLogger },
    baseUrl: () => 'https://quarry.example.com/v1',
    api: {
      projects: async () => ['prj_1', 'prj_2'],
      renewedToken: async () => 'another-token',
      setVariables: async ({ token }, id, { ZEROENTROPY_API_KEY: key }) => {
        if (vercelSays.answer === 'not') throw new AppError('bad_gateway', 'Vercel does not answer.');
        projects[id] = `${token} ${key}`;
      },
    },
    keys: {
      issue: async () => `key-${held.push('alive')}`,
      end: async () => void held.fill('over'),
      isAlive: (secret) => held[Number(secret.slice(4)) - 1] === 'alive',
    },
  });
  /** What licenses entitle to; AWS says nothing about others. */
  const entitled: Record<string, Tier> = {};
  const metering = {
    isMetered: false,
    hour: 0,
    fix: async () => {},
    fixUntil: async () => {},
    report: async () => new Set<string>(),
    warnOfOtherSources: async () => {},
  };
  const market = {
    resolve: () => Promise.reject(new Error('nobody comes from there')),
    tierOf: async ({ licenseArn }: AwsOffer) => {
      const tier = entitled[licenseArn];
      if (tier === undefined) throw new AppError('bad_gateway', 'AWS does not answer as it should.');
      return tier;
    },
  };
  const settings = {
    ...{ clientId: 'oac', clientSecret: 's', apiUrl: 'http://127.0.0.1:1', nextHosts: new Set<string>() },
    redirectUri: () => '',
    fetch: localEgress.fetch,
  };
  const marketplaces = new Marketplaces({
    ...{ store, agreements, clock, sealing, chance: systemChance, logger: silentLogger },
    audit: new AuditLog({ store, clock, chance: systemChance }),
    aws: { market, metering, inbox: null },
    cards: null,
    vercel: { api: new VercelApi(settings), variables, tier: 'starter' },
    applyTier: async (id) => {
      const has = boughtTier(await agreements.ofOrganisation(id));
      const { until } = hold;
      hold.until = Promise.resolve();
      await until;
      granted.push(has);
    },
    tierOf: () => null,
    admit: () => {},
    admitMessage: () => {},
  });
  const put = async (installationId: string, more: Partial<Agreement>) => {
    const offer = {
      marketplace: 'vercel',
      ...{ installationId, teamId: null, userId: null, next: 'https://vercel.com/' },
      sealedToken: sealing.seal('a-token', installationId),
    } as const;
    const whole = {
      boundAt: 0,
      endedAt: null,
      tier: 'starter',
      granted: null,
      hour: 0,
      carried: {},
    } as const;
    await agreements.change(offer, () => ({ after: { offer, organizationId, ...whole, ...more } }));
  };
  const putAws = async (licenseArn: string) => {
    const offer = {
      marketplace: 'aws',
      licenseArn,
      accountId: '1',
      productCode: 'p',
      customerId: null,
    } as const;
    const whole = { boundAt: 0, endedAt: null, tier: null, granted: null, hour: 0, carried: {} } as const;
    await agreements.change(offer, () => ({ after: { offer, organizationId, ...whole } }));
  };
  const of = (installationId: string) => agreements.records.agreement('vercel', installationId);
  return {
    marketplaces,
    put,
    putAws,
    entitled,
    of,
    granted,
    hold,
    projects,
    vercelSays,
    held,
    sealing,
    rotate,
  };
}

t.test(
  'what was bound before a crash, and not given, is given at the start and by the next look',
  async (t) => {
    for (const look of ['settleAll', 'settle'] as const) {
      const { marketplaces, put, of, granted } = build();
      await put('icfg_1', { tier: 'teams' });
      await marketplaces[look](organizationId);
      await marketplaces[look](organizationId);
      t.same(granted, ['teams'], 'once');
      t.equal(of('icfg_1')?.granted, 'teams');
      await put('icfg_1', { tier: 'teams', granted: 'teams', endedAt: 1 });
      await marketplaces[look](organizationId);
      t.same(granted, ['teams', null], 'and what had ended is taken away');
    }
  },
);

t.test('who gives at the same time gives the highest of all in the end', async (t) => {
  const { marketplaces, put, granted, hold } = build();
  await put('icfg_1', { tier: 'starter' });
  let go = () => {};
  hold.until = new Promise((resolve) => {
    go = resolve;
  });
  const first = marketplaces.settle(organizationId);
  await new Promise((resolve) => setImmediate(resolve));
  await put('icfg_2', { tier: 'teams' });
  const second = marketplaces.settle(organizationId);
  await new Promise((resolve) => setImmediate(resolve));
  go();
  await Promise.all([first, second]);
  t.same(granted, ['starter', 'teams']);
});

t.test('an agreement that AWS does not tell about keeps no other from being asked for', async (t) => {
  const { marketplaces, putAws, entitled, granted } = build();
  for (const license of ['a', 'b', 'c']) await putAws(license);
  entitled.c = 'teams';
  await marketplaces.refresh(signal);
  t.same(granted, ['teams']);
});

t.test('variables that Vercel did not take are set later, with the same key, until the end', async (t) => {
  const { marketplaces, put, of, projects, vercelSays, held } = build();
  await put('icfg_1', { granted: 'starter', variables: 'waiting' });
  await put('icfg_2', { granted: 'starter' });
  await put('icfg_3', { granted: 'starter', variables: 'refused' });
  await marketplaces.setWaiting(signal);
  t.equal(of('icfg_1')?.variables, 'waiting');
  vercelSays.answer = 'well';
  await marketplaces.setWaiting(signal);
  await marketplaces.setWaiting(signal);
  t.same(projects, { prj_1: 'a-token key-1', prj_2: 'a-token key-1' });
  t.equal(of('icfg_1')?.variables, 'set');
  t.same(held, ['alive'], 'for nobody else');
  const { sealedKey } = of('icfg_1')!;
  t.notOk(Buffer.from(sealedKey!).includes('key-1'), 'beside the agreement it is sealed');
  t.equal(new Sealing([new Uint8Array(32)], systemChance).open(sealedKey!, 'icfg_1'), null);
});

t.test(
  'after a rotation what was sealed opens, is sealed again, and without its secret is asked for once',
  async (t) => {
    const { marketplaces, put, of, vercelSays, sealing, rotate, projects } = build();
    vercelSays.answer = 'well';
    await put('icfg_1', { granted: 'starter', variables: 'waiting' });
    await marketplaces.setWaiting(signal);
    const before = of('icfg_1')!;
    const [first, second] = [new Uint8Array(32).fill(3), new Uint8Array(32).fill(4)];
    const rotated = new Sealing([second, first], systemChance);
    rotate(rotated);
    await marketplaces.reseal(signal);
    const after = of('icfg_1')!;
    const only = new Sealing([second], systemChance);
    t.equal(only.open(after.sealedKey!, 'icfg_1'), sealing.open(before.sealedKey!, 'icfg_1'));
    t.equal(after.offer.marketplace === 'vercel' && only.open(after.offer.sealedToken, 'icfg_1'), 'a-token');
    rotate(new Sealing([new Uint8Array(32).fill(5)], systemChance));
    await put('icfg_2', { granted: 'starter', variables: 'waiting' });
    await marketplaces.setWaiting(signal);
    t.equal(of('icfg_2')?.variables, 'set', 'a new token is asked of Vercel');
    t.match(projects, { prj_1: /^another-token / });
  },
);
