import { fileURLToPath } from 'node:url';
import { ParserHost } from '../../../src/parsing/process/parser-host.ts';
import { noSandbox } from '../../../src/parsing/tools/sandbox.ts';

/** Minimal server: owns a parser process that hangs in a document, and prints its id. Killed by the test. */
const host = new ParserHost({
  entry: fileURLToPath(new URL('./faulty-parser-process.js', import.meta.url)),
  prlimit: null,
  sandbox: noSandbox,
  onProcess: (event, pid) => {
    if (event === 'started') setTimeout(() => console.log(pid), 500);
  },
});
await host.parse({ kind: 'parse', file: process.argv[2] ?? '', path: 'hang' });
