import { serveParser } from '../../../src/parsing/process/parser-serve.ts';

/** Parser process that fails as named by the path of the document, before the real parser receives the request. */
let requestCount = 0;

const faults: Readonly<Record<string, () => void>> = {
  hang: () => {
    for (;;);
  },
  abort: () => process.abort(),
  kill: () => process.kill(process.pid, 'SIGKILL'),
  exit: () => process.exit(3),
  heap: () => {
    const retained: number[][] = [];
    for (;;) retained.push(new Array<number>(100_000).fill(0.5));
  },
  buffers: () => {
    const retained: Buffer[] = [];
    for (;;) retained.push(Buffer.alloc(16_000_000, 1));
  },
  flood: () => {
    for (;;) process.send?.({ type: 'page', text: 'x'.repeat(1_000_000) });
  },
  'report progress forever': () => {
    const progress = { stage: 'reading', page: 0, of: null };
    const clock = new Int32Array(new SharedArrayBuffer(4));
    for (;;) {
      process.send?.({ type: 'progress', progress });
      Atomics.wait(clock, 0, 0, 10);
    }
  },
  nonsense: () => process.send?.({ type: 'done', info: 'all is well' }),
  'kill unless fresh': () => {
    if (requestCount > 1) process.kill(process.pid, 'SIGKILL');
  },
};

process.on('message', (request: { path?: string }) => {
  requestCount += 1;
  faults[request.path ?? '']?.();
});
serveParser(new URL('../../../workers/watchdog.js', import.meta.url));
