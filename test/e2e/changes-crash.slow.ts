import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { checkChangeKillRounds } from './change-kill-rounds.ts';
import { joinSharedServer } from './shared-server.ts';

t.setTimeout(testFileMsMax);
t.test('after many kills, the feed has each acknowledged change', async (t) =>
  checkChangeKillRounds(t, await joinSharedServer(), 15),
);
