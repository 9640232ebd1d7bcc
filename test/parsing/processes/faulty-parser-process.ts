/** Parser process that fails as named by the path of the document, before the real parser receives the request. */
const kept = Symbol('kept');
let requestCount = 0;

/** Each ends the process, or returns for the parser to handle the request, or keeps the request by returning `kept`. */
const faults: Readonly<Record<string, () => unknown>> = {
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
    // As fast as the host receives it: pages sent without waiting stay in the memory of this process.
    const page = { type: 'page', text: 'x'.repeat(1_000_000), boxes: null };
    const send = () => void process.send?.(page, undefined, {}, send);
    send();
    return kept;
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

// The entry of the product, which the build bundles.
await import(new URL('../../../workers/parser-process.js', import.meta.url).href);
const parserListeners = process.listeners('message');
process.removeAllListeners('message');
process.on('message', (request: { path?: string }, handle) => {
  requestCount += 1;
  if (faults[request.path ?? '']?.() === kept) return;
  for (const listener of parserListeners) listener.call(process, request, handle);
});
