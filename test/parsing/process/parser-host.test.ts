import { fileURLToPath } from 'node:url';
import t from '../../support/tap.ts';

/** Suites by title. */
const suites = {
  'parser processes': '../parser-host-suite.js',
  'limits of parser processes': '../parser-limits-suite.js',
  'isolation of parser processes': '../parser-isolation-suite.js',
  'cancellation of parser processes': '../parser-cancellation-suite.js',
  'page images': '../page-images-suite.js',
  'the pool of parser threads': '../parse-pool-suite.js',
};

/*
 * A suite runs in a separate process without NODE_OPTIONS: the test runner would inject its loaders into every process
 * forked by the suite, and a parser process may not read the runner's files.
 */
for (const [title, path] of Object.entries(suites)) {
  const file = fileURLToPath(new URL(path, import.meta.url));
  await t.spawn('/usr/bin/env', ['-u', 'NODE_OPTIONS', process.execPath, file], {}, title);
}
