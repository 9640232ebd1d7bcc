import { loadSettings } from '../../src/config/settings.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { loadModelCatalog } from '../../src/models/load-model-catalog.ts';
import { localEgress } from '../local-egress.ts';
import t, { type Test } from '../support/tap.ts';

const machine = { cores: 2, memoryBytes: 8e9 };
const unreachableUrl = 'http://127.0.0.1:9/v1';

/** Loads the catalog with these QUARRY_* variables. */
function load(t: Test, variables: Readonly<Record<string, string>>) {
  const dataFolder = t.testdir();
  const { settings } = loadSettings({ flags: {}, variables, workingFolder: dataFolder, machine });
  return loadModelCatalog({
    settings,
    dataFolder,
    egress: localEgress,
    clock: systemClock,
    logger: silentLogger,
    random: () => 0.5,
    mayLogReply: () => true,
    onRecovered: () => {},
    observe: () => {},
  });
}

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
  for (const [variables, message] of wrongSettings) await t.rejects(load(t, variables), { message });
});
