import t from 'tap';
import { runRandomLoad } from './random-load.ts';

t.setTimeout(1_800_000);
t.test('many callers who do anything for two minutes break nothing', (t) => runRandomLoad(t, 120_000));
