import t from 'tap';
import { fileMsMax } from '../waiting.ts';
import { storm } from './storm.ts';

t.setTimeout(fileMsMax);
t.test('many callers who do anything at once break nothing', (t) => storm(t, 4_000));
