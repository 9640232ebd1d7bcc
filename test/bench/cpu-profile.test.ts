import { type CpuProfile, stageShares } from '../../bench/harness/cpu-profile.ts';
import t from '../support/tap.ts';

const node = (id: number, functionName: string, url: string, children: readonly number[] = []) => ({
  id,
  children,
  callFrame: { functionName, url, lineNumber: 0, columnNumber: 0 },
});
const file = (path: string) => `file:///srv/quarry/dist/src/${path}`;

const nodes: CpuProfile['nodes'] = [
  node(1, '(root)', '', [2, 3, 4, 5, 12]),
  node(2, '(idle)', ''),
  node(3, '(garbage collector)', ''),
  node(4, '(program)', ''),
  node(5, 'handle', file('http/request-handler.js'), [6, 7, 9, 11]),
  node(6, 'authenticate', file('auth/authenticate.js'), [10]),
  node(7, 'searchSnippets', file('search/search.js'), [8]),
  node(8, 'stem', 'file:///srv/quarry/node_modules/stemmer/index.js'),
  node(9, 'search', file('index/collection-index.js'), [13]),
  node(10, 'createHash', 'node:internal/crypto/hash'),
  node(11, 'hash', file('core/ids.js')),
  node(12, 'post', 'node:inspector', [14]),
  node(13, 'search', ''),
  node(14, 'dispatch', ''),
];

t.test('a sample belongs to the innermost function whose file has a stage', async (t) => {
  // Node, microseconds.
  const samples = [
    [2, 1_000],
    [3, 10],
    [4, 20],
    [5, 30],
    [6, 5],
    [10, 5],
    [7, 10],
    [8, 10],
    [13, 100],
    [11, 10],
    [14, 1_000],
  ] as const;
  const shares = stageShares({
    nodes,
    samples: samples.map(([id]) => id),
    timeDeltas: samples.map(([, us]) => us),
  });
  const us = Object.fromEntries(
    [...(shares ?? [])].map(([stage, share]) => [stage, Math.round(200 * share)]),
  );
  t.match(us, {
    'garbage collection': 10,
    system: 20,
    'other code': 40,
    authenticate: 10,
    fuse: 20,
    search: 100,
  });
  t.equal(
    Object.values(us).reduce((sum, one) => sum + one, 0),
    200,
    'time of sleep and of the profiler does not count',
  );
});

t.test('a profile without samples has no shares', async (t) => {
  t.equal(stageShares({ nodes, samples: [], timeDeltas: [] }), null);
});
