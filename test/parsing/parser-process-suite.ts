/** All suites of parser processes, one after the other. */
import './parser-host-suite.ts';
import './parser-limits-suite.ts';
import './parser-isolation-suite.ts';
import './parser-cancellation-suite.ts';
import './page-images-suite.ts';
import './parse-pool-suite.ts';
