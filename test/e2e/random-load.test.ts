import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { runRandomLoad } from './random-load.ts';

t.setTimeout(testFileMsMax);
t.test('concurrent random requests of many callers cause no failure', (t) => runRandomLoad(t, 2_000));
