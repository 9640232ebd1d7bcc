import t from 'tap';
import { testFileMsMax } from '../timeouts.ts';
import { runRandomLoad } from './random-load.ts';

t.setTimeout(testFileMsMax);
t.test('many callers who do anything at once break nothing', (t) => runRandomLoad(t, 4_000));
