import type { Settings } from '../../config/schema.ts';
import { AppError } from '../../core/app-error.ts';
import { silentLogger } from '../../core/logger.ts';
import { createEgress } from '../../egress/create-egress.ts';
import { readGoldenOutputs, writeGoldenOutputs } from '../../models/golden-file.ts';
import { loadModelCatalog } from '../../models/load-model-catalog.ts';
import {
  checkEmbedding,
  checkReranker,
  embedGoldenTexts,
  type GoldenOutputs,
  type ServiceFinding,
  scoreGoldenPairs,
} from '../../models/service-checks.ts';
import { clock } from '../runtime.ts';

export interface ModelFindings {
  readonly model: string;
  readonly kind: 'embedding' | 'reranker';
  readonly findings: readonly ServiceFinding[];
  /** Whether the outputs were recorded. Outputs that fail a check are not. */
  readonly isRecorded: boolean;
}

/**
 * Checks the models of the configured services, and records their outputs if `isRecording`. Errors: AppError if the
 * settings are inconsistent; `ModelUnavailableError` if a service does not respond.
 */
export async function checkModels(
  settings: Settings,
  { isRecording }: { readonly isRecording: boolean },
): Promise<ModelFindings[]> {
  const catalog = await loadModelCatalog({
    settings,
    dataFolder: settings.data,
    egress: createEgress(settings),
    clock,
    random: Math.random,
    logger: silentLogger,
    mayLogReply: () => true,
    onRecovered: () => {},
    observe: () => {},
  });
  const recordIfGood = async (outputs: GoldenOutputs, findings: readonly ServiceFinding[]) => {
    const isGood = findings.every(({ check, state }) => check === 'recording' || state !== 'failed');
    if (!isRecording || !isGood) return false;
    await writeGoldenOutputs(settings.data, outputs);
    return true;
  };
  const results: ModelFindings[] = [];
  for (const model of catalog.list()) {
    if (model.backend === 'built-in' || !('provider' in model.backend)) continue;
    const { id, kind } = model;
    const recorded = isRecording ? null : await readGoldenOutputs(settings.data, id);
    if (model.kind === 'embedding') {
      const outputs = await embedGoldenTexts(model, model.backend);
      const { hasPrompts } = model.backend;
      const findings = checkEmbedding(outputs, { hasPrompts, recorded });
      results.push({ model: id, kind, findings, isRecorded: await recordIfGood(outputs, findings) });
    } else {
      const outputs = await scoreGoldenPairs(model, model.backend);
      const findings = checkReranker(outputs, recorded);
      results.push({ model: id, kind, findings, isRecorded: await recordIfGood(outputs, findings) });
    }
  }
  if (results.length > 0) return results;
  throw new AppError(
    'not_found',
    'The settings name no embedding or rerank service. `quarry models test` checks models from files.',
  );
}
