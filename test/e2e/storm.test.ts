import t from 'tap';
import { storm } from './storm.ts';

t.setTimeout(60_000);
t.test('many callers who do anything at once break nothing', (t) => storm(t, 4_000));
