import t from '../support/tap.ts';
import { checkKilledCreates, checkKilledRestores } from './kill-rounds.ts';

/** 25 kills of each command, or the number in QUARRY_BACKUP_KILL_ROUNDS. */

t.setTimeout(7_000_000);
const rounds = Number(process.env.QUARRY_BACKUP_KILL_ROUNDS ?? 25);

t.test('kill -9 of backups leaves the earlier backups valid', (t) => checkKilledCreates(t, rounds));

t.test('kill -9 of restores leaves no directory that opens', (t) => checkKilledRestores(t, rounds));
