import t from '../support/tap.ts';
import { loadCatalog } from './load-catalog.ts';

const unreachableUrl = 'http://127.0.0.1:9/v1';

/** Inconsistent settings, and the error. */
const wrongSettings: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  [
    { QUARRY_EMBEDDING_URL: unreachableUrl, QUARRY_EMBEDDING_MODEL: 'x' },
    /^The vector length of "x" is unknown.*no connection/,
  ],
  [{ QUARRY_RERANKER: 'zerank-9' }, /^QUARRY_RERANKER is "zerank-9", which does not exist/],
  [{ QUARRY_MODEL_ALIASES: 'a=b' }, /^QUARRY_MODEL_ALIASES maps a to "b", which does not exist/],
  [
    { QUARRY_EMBEDDING_URL: unreachableUrl, QUARRY_EMBEDDING_MODEL: 'zembed-1' },
    /the name of a built-in model/,
  ],
  [
    { QUARRY_MODEL_EXECUTION_PROVIDERS: 'cpu,abacus' },
    /^QUARRY_MODEL_EXECUTION_PROVIDERS contains abacus, which onnxruntime cannot use on this machine/,
  ],
];

t.test('settings of models that contradict each other are rejected with the reason', async (t) => {
  for (const [variables, message] of wrongSettings) await t.rejects(loadCatalog(t, variables), { message });
});
