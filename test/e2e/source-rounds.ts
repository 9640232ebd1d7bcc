import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import type { TestServer } from './server.ts';
import {
  changeAtRandom,
  createRandom,
  getSource,
  hashesOf,
  listHashes,
  synchronize,
  type TestOrigin,
} from './source-fixture.ts';

type Model = Map<string, string>;

/** An origin that the tests change, and the source and collection of the same name that follow it. */
export interface FollowedOrigin {
  readonly name: string;
  readonly origin: TestOrigin;
  /** Documents in the collection, and those that the content of the origin requires; default: SHA-256 by path. */
  readonly listActual?: () => Promise<Map<string, string>>;
  readonly listExpected?: (model: Model) => Map<string, string>;
}

interface SourceRoundsOptions {
  readonly server: TestServer;
  readonly api: CheckedApiClient;
  readonly changesPerRound: number;
}

/**
 * The documents of sources equal their origins after random changes, although the server is killed during their runs.
 * There are four rounds of changes. The kills of the second and fourth interrupt all sources.
 */
export async function checkEqualToOrigins(
  t: Test,
  followed: readonly FollowedOrigin[],
  { server, api, changesPerRound }: SourceRoundsOptions,
): Promise<void> {
  const seed = Number(process.env.SEED ?? Math.floor(performance.now() * 1_000) % 1_000_000);
  t.comment(`SEED=${seed}`);
  const random = createRandom(seed);
  const models = new Map(followed.map(({ name }) => [name, new Map<string, string>()]));
  const changeAll = async (changes: number) => {
    for (const { name, origin } of followed)
      await changeAtRandom(origin, models.get(name)!, { changes, random });
  };
  for (let round = 0; round < 4; round += 1) {
    await changeAll(changesPerRound);
    if (round % 2 === 1) {
      for (const { name } of followed) await startRun(api, name, changesPerRound / 2);
      await changeAll(2);
      await server.stop('SIGKILL');
      await server.restart();
      for (const { name } of followed) await waitForEnd(api, name);
    }
    await Promise.all(
      followed.map((one) => checkEqual(t, api, one, { model: models.get(one.name)!, round })),
    );
  }
  await Promise.all(followed.map((one) => checkUnchanged(t, api, one, models.get(one.name)!)));
}

/** Starts a run and waits until it has made more than this number of changes; a run that is too fast has ended. */
async function startRun(api: CheckedApiClient, source_name: string, changes: number): Promise<void> {
  await api.call('sources/sync-source', { source_name });
  await waitUntil('some changes', async () => {
    const { running, state } = await getSource(api, source_name);
    const { added = 0, deleted = 0, updated = 0 } = running?.counts ?? {};
    return state === 'idle' || added + deleted + updated > changes;
  });
}

async function waitForEnd(api: CheckedApiClient, source_name: string): Promise<void> {
  await waitUntil('the interrupted run', async () => (await getSource(api, source_name)).state === 'idle');
}

async function checkEqual(
  t: Test,
  api: CheckedApiClient,
  { name, listActual, listExpected = hashesOf }: FollowedOrigin,
  { model, round }: { readonly model: Model; readonly round: number },
): Promise<void> {
  const { last_run } = await synchronize(api, name);
  t.match(last_run, { outcome: 'succeeded', error: null }, `${name}: ${JSON.stringify(last_run)}`);
  const actual = await (listActual?.() ?? listHashes(api, name));
  t.strictSame(sort(actual), sort(listExpected(model)), `${name}, round ${round}`);
}

async function checkUnchanged(
  t: Test,
  api: CheckedApiClient,
  { name, listExpected = hashesOf }: FollowedOrigin,
  model: Model,
): Promise<void> {
  const { last_run } = await synchronize(api, name);
  t.match(
    last_run?.counts,
    { added: 0, updated: 0, deleted: 0, failed: 0 },
    `${name}: a run without changes`,
  );
  // An origin without changes may have nothing to list.
  const unchanged = last_run?.counts.unchanged ?? -1;
  t.ok([0, listExpected(model).size].includes(unchanged), `${name}: ${unchanged} unchanged`);
}

const sort = (documents: ReadonlyMap<string, string>) => [...documents].sort(([a], [b]) => (a < b ? -1 : 1));
