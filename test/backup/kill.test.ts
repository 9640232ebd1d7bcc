import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { checkKilledCreates, checkKilledRestores } from './kill-rounds.ts';

t.setTimeout(testFileMsMax);

t.test('kill -9 of a backup leaves the earlier backups valid', (t) => checkKilledCreates(t, 5));

t.test('kill -9 of a restore leaves no directory that opens', (t) => checkKilledRestores(t, 5));
