import t from '../support/tap.ts';
import { runSanitizer } from './sanitizer-run.ts';

t.test('the engine has no data race under mixed load', (t) => runSanitizer(t, 'thread'));
