import { fileURLToPath } from 'node:url';
import t from '../../support/tap.ts';

/*
 * The suite runs in a separate process without NODE_OPTIONS: the test runner would inject its loaders into every process
 * forked by the suite, and a parser process may not read the runner's files.
 */
const suite = fileURLToPath(new URL('../tool-server-suite.js', import.meta.url));
await t.spawn('/usr/bin/env', ['-u', 'NODE_OPTIONS', process.execPath, suite], {}, 'parser processes');
