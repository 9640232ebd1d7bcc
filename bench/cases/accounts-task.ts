import { Authenticator } from '../../src/access/authenticate.ts';
import { firstStart } from '../../src/accounts/first-start.ts';
import { issueKey, keyDigest, maskKey } from '../../src/accounts/key-format.ts';
import { KeyRing } from '../../src/accounts/key-ring.ts';
import { Memberships } from '../../src/accounts/memberships.ts';
import { OrganisationDirectory } from '../../src/accounts/organisation-directory.ts';
import { Sessions } from '../../src/accounts/sessions.ts';
import type { Tiers } from '../../src/admission/tiers.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemChance } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { ApiKeys } from '../../src/store/api-keys.ts';
import { openDataDirectory } from '../../src/store/data-directory.ts';
import { noOverrides, Organisations } from '../../src/store/organisations.ts';
import type { Operation, Store } from '../../src/store/store.ts';
import type { QueryFact } from '../../src/usage/facts.ts';
import { UsageMeter } from '../../src/usage/meter.ts';
import { ownCpuMs } from '../harness/cpu-time.ts';

/** Fills a data directory with organisations and keys, starts on it, and checks keys; in processes of its own. */

export interface AccountsInput {
  readonly step: 'fill' | 'start' | 'check';
  /** Data directory. */
  readonly folder: string;
  readonly keys: number;
  readonly keysPerOrganisation: number;
  readonly seconds: number;
  /** For `check`: some of the keys that are there. */
  readonly secrets: readonly string[];
}

export interface AccountsOutput {
  readonly secrets: readonly string[];
  /** Milliseconds from opening the directory until keys can be checked. */
  readonly startMs: number;
  /** Resident bytes of the process then. */
  readonly residentBytes: number;
  readonly cachedUs: number;
  readonly lookedUpUs: number;
  readonly countedUs: number;
}

const nothing: AccountsOutput = {
  ...{ secrets: [], startMs: 0, residentBytes: 0, cachedUs: 0, lookedUpUs: 0, countedUs: 0 },
};
/** Nobody asks for limits here. */
const tiers = {} as Tiers;
const secretsKept = 20_000;
const organisationsPerWrite = 100;

export default async function accounts(input: AccountsInput): Promise<AccountsOutput> {
  const opened = performance.now();
  const data = await openDataDirectory({
    path: input.folder,
    reserveBytes: 0,
    logger: silentLogger,
    chance: systemChance,
  });
  try {
    switch (input.step) {
      case 'fill':
        return { ...nothing, secrets: await fill(data.store, input) };
      case 'start':
        return await start(data.store, opened);
      case 'check':
        return await check(data.store, input);
    }
  } finally {
    await data.close();
  }
}

async function fill(store: Store, { keys, keysPerOrganisation }: AccountsInput): Promise<string[]> {
  const secrets: string[] = [];
  const [organisations, records] = [new Organisations(store), new ApiKeys(store)];
  let operations: Operation[] = [];
  for (let organisation = 0; organisation * keysPerOrganisation < keys; organisation++) {
    const organizationId = systemChance.uuid();
    const name = `Organisation ${organisation}`;
    const common = { organizationId, name, createdAt: Date.UTC(2026, 0, 1) };
    operations.push(
      ...organisations.create({
        ...common,
        tier: 'free',
        unlimited: false,
        overrides: noOverrides,
        zdr: false,
      }),
    );
    for (let key = 0; key < keysPerOrganisation; key++) {
      const secret = issueKey(systemChance);
      if (secrets.length < secretsKept) secrets.push(secret);
      const shown = { hash: keyDigest(secret), masked: maskKey(secret), keyId: systemChance.uuid() };
      operations.push(...records.create({ ...common, ...shown, permission: 'all', createdBy: null }));
    }
    if (organisation % organisationsPerWrite !== 0) continue;
    await store.write(operations);
    operations = [];
  }
  await store.write(operations);
  return secrets;
}

function rooms(store: Store) {
  const audit = new AuditLog({ store, clock: systemClock, chance: systemChance });
  const parts = { store, clock: systemClock, chance: systemChance, audit };
  return {
    organisations: new OrganisationDirectory({ ...parts, tiers }),
    keys: new KeyRing({ ...parts, checkFilter: () => {} }),
    sessions: new Sessions({ ...parts, logger: silentLogger }),
    memberships: new Memberships(parts),
  };
}

async function start(store: Store, opened: number): Promise<AccountsOutput> {
  const { organisations, keys } = rooms(store);
  await firstStart({ organisations, keys, chance: systemChance, operatorKey: null });
  return { ...nothing, startMs: performance.now() - opened, residentBytes: process.memoryUsage.rss() };
}

async function check(store: Store, { seconds, secrets }: AccountsInput): Promise<AccountsOutput> {
  const authenticator = new Authenticator({
    ...rooms(store),
    clock: systemClock,
    adminKey: null,
    hasAdminPassword: false,
  });
  const ask = (secret: string) => {
    const authorization = `Bearer ${secret}`;
    return authenticator.authenticate(
      {
        method: 'POST',
        header: (name) => (name === 'authorization' ? authorization : undefined),
        ownOrigin: () => 'http://127.0.0.1',
      },
      'top-snippets',
    );
  };
  const few = secrets.slice(0, 100);
  const cachedUs = cpuUsOf(seconds, (i) => void ask(few[i % few.length]!));
  const lookedUpUs = cpuUsOf(seconds, (i) => void ask(secrets[i % secrets.length]!));
  const meter = new UsageMeter({ store, clock: systemClock, logger: silentLogger });
  const ids = Array.from({ length: 50 }, () => systemChance.uuid());
  const countedUs = cpuUsOf(seconds, (i) => {
    const id = ids[i % ids.length]!;
    const fact: QueryFact = {
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
  return { ...nothing, cachedUs, lookedUpUs, countedUs };
}

/** Microseconds of CPU of one call, the loop around it included. */
function cpuUsOf(seconds: number, call: (index: number) => void): number {
  const until = performance.now() + seconds * 1_000;
  const startCpu = ownCpuMs();
  let calls = 0;
  do {
    for (let i = 0; i < 1_000; i++) call(calls++);
  } while (performance.now() < until);
  return ((ownCpuMs() - startCpu) * 1_000) / calls;
}
