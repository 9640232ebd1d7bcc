/** Stages of a query on the main thread, in the order of a request. */
export const profileStages = [
  'authenticate',
  'parse',
  'analyze',
  'embed',
  'search',
  'fuse',
  'rerank',
  'read',
  'render',
  'send',
  'other code',
  'garbage collection',
  'system',
] as const;
export type ProfileStage = (typeof profileStages)[number];

/** Subset of a CPU profile of V8. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** Node id of every sample. */
  readonly samples: readonly number[];
  /** Microseconds before every sample. */
  readonly timeDeltas: readonly number[];
}

export interface ProfileNode {
  readonly id: number;
  /** Line and column, from 0, of the function in the file. */
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
  readonly children?: readonly number[];
}

/** Files of the server by stage; the first rule that matches counts. */
const rules: readonly (readonly [pattern: RegExp, stage: ProfileStage])[] = [
  [/\/src\/(auth|accounts|admission)\//, 'authenticate'],
  [/\/src\/http\/(body-queue|json-body|json-scanner|read-body|request-body-reader)\./, 'parse'],
  [/\/src\/(schemas|requests)\//, 'parse'],
  [/\/src\/search\/(operators|spelling|filter|filter-match)\./, 'analyze'],
  [/\/src\/text\//, 'analyze'],
  [/\/src\/ingest\/model-runner\./, 'rerank'],
  [/\/src\/(ingest\/query-embedder|models\/)/, 'embed'],
  [/\/src\/(index\/|search\/call-index\.)/, 'search'],
  [/\/src\/search\/(candidates|fuse|proximity|selection|search)\./, 'fuse'],
  [/\/src\/search\/(chunk-hits|chunk-pages|fine-chunks|page-lookup)\./, 'read'],
  [/\/src\/storage\//, 'read'],
  [/\/src\/services\/(query-replies|rendered-json|document-urls)\./, 'render'],
  [
    /\/src\/http\/(server-uws|server-node|replies|exchange|uws-exchange|account-exchange|chunk-buffers|linger)\.|^node:(_?http|net)/,
    'send',
  ],
  [/\/src\//, 'other code'],
];
/** Files that call code of every stage; a deeper caller decides. */
const sharedCode = /\/src\/core\/|^node:internal/;

/**
 * Returns the share of each stage in the time that the thread did not sleep. A sample belongs to the innermost
 * function whose file has a stage. Times of native code are those of the function that called it. Null if no
 * sample fell into that time.
 */
export function stageShares({ nodes, samples, timeDeltas }: CpuProfile): Map<ProfileStage, number> | null {
  const stageOf = stagesByNode(nodes);
  const times = new Map<ProfileStage, number>();
  let total = 0;
  for (const [i, id] of samples.entries()) {
    const stage = stageOf.get(id) ?? null;
    const us = Math.max(0, timeDeltas[i] ?? 0);
    if (stage === null) continue;
    total += us;
    times.set(stage, (times.get(stage) ?? 0) + us);
  }
  if (total === 0) return null;
  return new Map(profileStages.map((stage) => [stage, (times.get(stage) ?? 0) / total]));
}

/** Returns the stage of every node; null: the thread slept, or worked for the profiler. */
function stagesByNode(nodes: readonly ProfileNode[]): Map<number, ProfileStage | null> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stages = new Map<number, ProfileStage | null>();
  const children = new Set(nodes.flatMap((node) => node.children ?? []));
  const waiting = nodes
    .filter(({ id }) => !children.has(id))
    .map((node) => ({ node, inherited: 'other code' as ProfileStage | null }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const stage = stageOfFrame(next.node.callFrame, next.inherited);
    stages.set(next.node.id, stage);
    for (const id of next.node.children ?? []) {
      const node = byId.get(id);
      if (node !== undefined) waiting.push({ node, inherited: stage });
    }
  }
  return stages;
}

function stageOfFrame(
  { functionName, url }: ProfileNode['callFrame'],
  inherited: ProfileStage | null,
): ProfileStage | null {
  if (inherited === null || functionName === '(idle)' || url === 'node:inspector') return null;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(program)') return 'system';
  if (url === '' || sharedCode.test(url)) return inherited;
  return rules.find(([pattern]) => pattern.test(url))?.[1] ?? inherited;
}
