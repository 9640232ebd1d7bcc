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

export interface SourceRoundsOptions {
  readonly server: TestServer;
  readonly api: CheckedApiClient;
  readonly source: string;
  readonly collection: string;
  readonly prefix: string;
  readonly origin: TestOrigin;
  readonly changes: number;
  /** Documents in the collection, and those that the content of the origin requires; default: SHA-256 by path. */
  readonly listActual?: () => Promise<Map<string, string>>;
  readonly listExpected?: (model: ReadonlyMap<string, string>) => Map<string, string>;
}

/**
 * The documents of a source equal its origin after random changes, although the server is killed during a run. Each
 * round makes a quarter of the changes.
 */
export async function checkEqualToOrigin(t: Test, options: SourceRoundsOptions): Promise<void> {
  const { server, api, source, collection, prefix, origin } = options;
  const seed = Number(process.env.SEED ?? Math.floor(performance.now() * 1_000) % 1_000_000);
  t.comment(`SEED=${seed}`);
  const random = createRandom(seed);
  const model = new Map<string, string>();
  let documents = 0;
  const changes = Math.ceil(options.changes / 4);
  for (let round = 0; round < 4; round += 1) {
    await changeAtRandom(origin, model, { changes, random });
    if (round % 2 === 1) {
      await api.call('sources/sync-source', { source_name: source });
      // Killed when some of the changes are applied; a run that is too fast is killed after it.
      await waitUntil('some changes', async () => {
        const { running, state } = await getSource(api, source);
        const { added = 0, deleted = 0, updated = 0 } = running?.counts ?? {};
        return state === 'idle' || added + deleted + updated > changes / 8;
      });
      await changeAtRandom(origin, model, { changes: 2, random });
      await server.stop('SIGKILL');
      await server.restart();
      await waitUntil('the interrupted run', async () => (await getSource(api, source)).state === 'idle');
    }
    const { last_run } = await synchronize(api, source);
    t.match(last_run, { outcome: 'succeeded', error: null }, JSON.stringify(last_run));
    const actual = await (options.listActual?.() ?? listHashes(api, collection));
    const expected = options.listExpected?.(model) ?? hashesOf(model, prefix);
    t.strictSame(sort(actual), sort(expected), `round ${round}`);
    documents = expected.size;
  }
  const { last_run } = await synchronize(api, source);
  t.match(last_run?.counts, { added: 0, updated: 0, deleted: 0, failed: 0 }, 'a run without changes');
  // An origin without changes may have nothing to list.
  t.ok([0, documents].includes(last_run?.counts.unchanged ?? -1), `${last_run?.counts.unchanged} unchanged`);
}

const sort = (documents: ReadonlyMap<string, string>) => [...documents].sort(([a], [b]) => (a < b ? -1 : 1));
