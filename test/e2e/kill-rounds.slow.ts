import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { checkKillRound } from './kill-round.ts';
import { TestServer } from './server.ts';

/** Repeated kills of one server: each start must also recover from the recoveries before it. */

t.setTimeout(testFileMsMax);
const collection_name = 'kept';

for (const HTTP of ['auto', 'node']) {
  t.test(
    `HTTP=${HTTP}: after every kill -9 all acknowledged documents exist and become searchable`,
    async (t) => {
      const server = await TestServer.start(t, { HTTP, SNAPSHOT_SECONDS: '5' });
      const api = new CheckedApiClient(server);
      await api.call('collections/add-collection', { collection_name, num_shards: 8 });
      for (let round = 0; round < 5; round += 1)
        await checkKillRound(t, server, collection_name, `round ${round}`);
    },
  );
}
