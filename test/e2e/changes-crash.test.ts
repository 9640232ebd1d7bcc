import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { checkChangeKillRounds } from './change-kill-rounds.ts';

t.setTimeout(testFileMsMax);
t.test('after a kill -9, the feed has each acknowledged change', (t) => checkChangeKillRounds(t, 1));
