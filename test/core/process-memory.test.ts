import { readProcessMemoryBytes } from '../../src/core/process-memory.ts';
import t from '../support/tap.ts';

const status =
  'Name:\tnode\nVmRSS:\t  900 kB\nRssAnon:\t  200 kB\nRssFile:\t  600 kB\nRssShmem:\t  100 kB\nVmSwap:\t   50 kB\n';

t.test('memory counts anonymous pages, resident or swapped out', async (t) => {
  const cases: readonly (readonly [kernelStatus: () => string, expected: number])[] = [
    [() => status, 350 * 1_024],
    [() => status.replace('VmSwap', 'Other'), 900],
    [() => '', 900],
    [
      () => {
        throw new Error('ENOENT');
      },
      900,
    ],
  ];
  for (const [kernelStatus, expected] of cases) {
    t.equal(readProcessMemoryBytes({ kernelStatus, residentBytes: () => 900 }), expected);
  }
});

t.test('this process has anonymous memory', async (t) => {
  const bytes = readProcessMemoryBytes();
  t.ok(bytes > 10_000_000 && bytes < 10_000_000_000, `${bytes} bytes`);
});
