import t from 'tap';
import { storm } from './storm.ts';

t.setTimeout(1_800_000);
t.test('many callers who do anything for two minutes break nothing', (t) => storm(t, 120_000));
