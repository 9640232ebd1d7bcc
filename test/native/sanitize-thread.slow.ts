import t from 'tap';
import { runSanitizer } from './sanitizer-run.ts';

t.test('the engine has no data race under mixed load', (t) => runSanitizer(t, 'thread'));
