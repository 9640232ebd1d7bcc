import { setFlagsFromString } from 'node:v8';

/** Entry point of the command line; `bin/quarry.js` imports it after everything is built. */

/**
 * Heap flags of `npm start`. The heap keeps the sizes that it has from the command line. The flags return to their
 * defaults, because V8 uses the compiled code that Node.js contains of its modules only while all flags have their
 * defaults: compiled again, those of the server and of a worker thread take .1 s of CPU (bench case `startup`). The
 * other modules are imported afterwards for the same reason.
 */
for (const flag of ['max-semi-space-size', 'initial-old-space-size']) setFlagsFromString(`--${flag}=0`);

const { runProcess } = await import('./run-process.ts');
await runProcess();
