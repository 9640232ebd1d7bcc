import { fileURLToPath } from 'node:url';
import t from '../../support/tap.ts';

/*
 * The suites run in a separate process without NODE_OPTIONS: the test runner would inject its loaders into every process
 * forked by them, and a parser process may not read the runner's files.
 */
const suites = fileURLToPath(new URL('../parser-process-suite.js', import.meta.url));
await t.spawn('/usr/bin/env', ['-u', 'NODE_OPTIONS', process.execPath, suites], {}, 'parser processes');
