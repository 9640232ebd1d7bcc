import { serveParser } from '../../../src/parsing/parser-serve.ts';

/** A parser process that fails as the path of the document says, before the real one hears the request. */
let served = 0;

const misdeeds: Readonly<Record<string, () => void>> = {
  hang: () => {
    for (;;);
  },
  abort: () => process.abort(),
  kill: () => process.kill(process.pid, 'SIGKILL'),
  exit: () => process.exit(3),
  heap: () => {
    const kept: number[][] = [];
    for (;;) kept.push(new Array<number>(100_000).fill(0.5));
  },
  buffers: () => {
    const kept: Buffer[] = [];
    for (;;) kept.push(Buffer.alloc(16_000_000, 1));
  },
  flood: () => {
    for (;;) process.send?.({ type: 'page', text: 'x'.repeat(1_000_000) });
  },
  nonsense: () => process.send?.({ type: 'done', facts: 'all is well' }),
  'kill unless fresh': () => {
    if (served > 1) process.kill(process.pid, 'SIGKILL');
  },
};

process.on('message', (request: { path?: string }) => {
  served += 1;
  misdeeds[request.path ?? '']?.();
});
serveParser(new URL('../../../workers/watchdog.js', import.meta.url));
