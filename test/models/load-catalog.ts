import { loadSettings } from '../../src/config/settings.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { ModelCatalog } from '../../src/models/catalog.ts';
import { loadModelCatalog } from '../../src/models/load-model-catalog.ts';
import { localEgress } from '../local-egress.ts';
import type { Test } from '../support/tap.ts';

const machine = { cores: 2, memoryBytes: 8e9 };

/** Loads the catalog with these QUARRY_* variables. */
export function loadCatalog(t: Test, variables: Readonly<Record<string, string>>): Promise<ModelCatalog> {
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
