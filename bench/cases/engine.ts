import { engineKinds } from '../engines/catalog.ts';
import type { BenchCase } from '../harness/bench-case.ts';
import { toEngineFindings } from '../harness/engine-findings.ts';
import { measureEngines } from '../harness/engine-measurement.ts';

/** Measures speed and recall of the engine's vector search against other engines. */
export const engineCase: BenchCase = {
  name: 'engine',
  summary:
    'vector search in one process: build, searches at equal recall, filters, replacement, memory; compared with other engines',
  presets: {
    smoke:
      '--vectors 1000 --dimensions 32 --questions 30 --seconds 0.02 --rounds 2 --engines quarry,hnswlib-node',
    usual: '--vectors 20000 --questions 300 --seconds 0.3 --rounds 3',
    full: '--vectors 100000 --questions 1000 --seconds 0.6 --rounds 5',
  },
  async run(context) {
    const measurement = await measureEngines(context);
    const measured = new Set(measurement.engines.map(({ name }) => name));
    const notMeasured = engineKinds.map(({ name }) => name).filter((name) => !measured.has(name));
    return { ...toEngineFindings(measurement, context.options), notMeasured };
  },
};
