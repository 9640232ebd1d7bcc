import t from '../support/tap.ts';
import { runSanitizer } from './sanitizer-run.ts';

t.test('the engine has no memory error and no undefined behavior under mixed load', (t) =>
  runSanitizer(t, 'address'),
);
