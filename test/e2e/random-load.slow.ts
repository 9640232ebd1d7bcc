import t from '../support/tap.ts';
import { runRandomLoad } from './random-load.ts';

t.setTimeout(1_800_000);
t.test('random requests of many callers for a minute cause no failure', (t) => runRandomLoad(t, 60_000));
