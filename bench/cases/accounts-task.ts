import { ApiKeyRegistry } from '../../src/accounts/api-key-registry.ts';
import { bootstrapInstallation } from '../../src/accounts/bootstrap.ts';
import { generateKey, hashKey, maskKey } from '../../src/accounts/key-format.ts';
import { Memberships } from '../../src/accounts/memberships.ts';
import { OrganizationDirectory } from '../../src/accounts/organization-directory.ts';
import { Sessions } from '../../src/accounts/sessions.ts';
import type { Tiers } from '../../src/admission/tiers.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { Authenticator } from '../../src/auth/authenticate.ts';
import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { ApiKeys } from '../../src/storage/api-keys.ts';
import { openDataDirectory } from '../../src/storage/data-directory.ts';
import { noOverrides, Organizations } from '../../src/storage/organizations.ts';
import type { Store, WriteOperation } from '../../src/storage/store.ts';
import { UsageMeter } from '../../src/usage/meter.ts';
import type { QueryUsageEvent } from '../../src/usage/usage-events.ts';
import { ownCpuMs } from '../harness/cpu-time.ts';

/** Task process: fills a data directory with organizations and keys, starts on it, and checks keys. */

export interface AccountsInput {
  readonly step: 'fill' | 'start' | 'check';
  /** Path of the data directory. */
  readonly folder: string;
  readonly keys: number;
  readonly keysPerOrganization: number;
  readonly seconds: number;
  /** For `check`: secrets of some existing keys. */
  readonly secrets: readonly string[];
}

export interface AccountsOutput {
  readonly secrets: readonly string[];
  /** Milliseconds from opening the directory until keys can be checked. */
  readonly startMs: number;
  /** Resident bytes of the process at that time. */
  readonly residentBytes: number;
  readonly cachedUs: number;
  readonly lookedUpUs: number;
  readonly countedUs: number;
}

const emptyOutput: AccountsOutput = {
  secrets: [],
  startMs: 0,
  residentBytes: 0,
  cachedUs: 0,
  lookedUpUs: 0,
  countedUs: 0,
};
/** Not read: the case checks no limits. */
const tiers = {} as Tiers;
const secretsMax = 20_000;
const organizationsPerWrite = 100;

export default async function accounts(input: AccountsInput): Promise<AccountsOutput> {
  const opened = performance.now();
  const data = await openDataDirectory({
    path: input.folder,
    reserveBytes: 0,
    logger: silentLogger,
    random: systemRandom,
  });
  try {
    switch (input.step) {
      case 'fill':
        return { ...emptyOutput, secrets: await fill(data.store, input) };
      case 'start':
        return await start(data.store, opened);
      case 'check':
        return await check(data.store, input);
    }
  } finally {
    await data.close();
  }
}

async function fill(store: Store, { keys, keysPerOrganization }: AccountsInput): Promise<string[]> {
  const secrets: string[] = [];
  const [organizations, records] = [new Organizations(store), new ApiKeys(store)];
  let operations: WriteOperation[] = [];
  for (let organization = 0; organization * keysPerOrganization < keys; organization++) {
    const organizationId = systemRandom.uuid();
    const name = `Organization ${organization}`;
    const common = { organizationId, name, createdAt: Date.UTC(2026, 0, 1) };
    operations.push(
      ...organizations.create({
        ...common,
        tier: 'free',
        unlimited: false,
        overrides: noOverrides,
        zdr: false,
      }),
    );
    for (let key = 0; key < keysPerOrganization; key++) {
      const secret = generateKey(systemRandom);
      if (secrets.length < secretsMax) secrets.push(secret);
      const shown = { hash: hashKey(secret), masked: maskKey(secret), keyId: systemRandom.uuid() };
      operations.push(...records.create({ ...common, ...shown, permission: 'all', createdBy: null }));
    }
    if (organization % organizationsPerWrite !== 0) continue;
    await store.write(operations);
    operations = [];
  }
  await store.write(operations);
  return secrets;
}

function createComponents(store: Store) {
  const audit = new AuditLog({ store, clock: systemClock, random: systemRandom });
  const parts = { store, clock: systemClock, random: systemRandom, audit };
  return {
    organizations: new OrganizationDirectory({ ...parts, tiers }),
    keys: new ApiKeyRegistry({ ...parts, checkFilter: () => {} }),
    sessions: new Sessions({ ...parts, logger: silentLogger }),
    memberships: new Memberships(parts),
  };
}

async function start(store: Store, opened: number): Promise<AccountsOutput> {
  const { organizations, keys } = createComponents(store);
  await bootstrapInstallation({ organizations, keys, random: systemRandom, operatorKey: null });
  return { ...emptyOutput, startMs: performance.now() - opened, residentBytes: process.memoryUsage.rss() };
}

async function check(store: Store, { seconds, secrets }: AccountsInput): Promise<AccountsOutput> {
  const authenticator = new Authenticator({
    ...createComponents(store),
    clock: systemClock,
    adminKey: null,
    hasAdminPassword: false,
  });
  const authenticate = (secret: string) => {
    const authorization = `Bearer ${secret}`;
    return authenticator.authenticate(
      {
        method: 'POST',
        header: (name) => (name === 'authorization' ? authorization : undefined),
        ownOrigin: () => 'http://127.0.0.1',
      },
      'read',
    );
  };
  const few = secrets.slice(0, 100);
  const cachedUs = cpuUsOf(seconds, (i) => void authenticate(few[i % few.length]!));
  const lookedUpUs = cpuUsOf(seconds, (i) => void authenticate(secrets[i % secrets.length]!));
  const meter = new UsageMeter({ store, clock: systemClock, logger: silentLogger });
  const ids = Array.from({ length: 50 }, () => systemRandom.uuid());
  const countedUs = cpuUsOf(seconds, (i) => {
    const id = ids[i % ids.length]!;
    const fact: QueryUsageEvent = {
      organizationId: id,
      collectionId: id,
      type: 'fine',
      queryBytes: 40,
      queriedBytes: 1_000_000,
      queryTokens: 9,
      results: 10,
      timeTakenMs: 3.5,
    };
    meter.recordQuery(fact);
  });
  await meter.close();
  return { ...emptyOutput, cachedUs, lookedUpUs, countedUs };
}

/** Returns microseconds of CPU per call, including the overhead of the loop. */
function cpuUsOf(seconds: number, call: (index: number) => void): number {
  const until = performance.now() + seconds * 1_000;
  const startCpu = ownCpuMs();
  let calls = 0;
  do {
    for (let i = 0; i < 1_000; i++) call(calls++);
  } while (performance.now() < until);
  return ((ownCpuMs() - startCpu) * 1_000) / calls;
}
