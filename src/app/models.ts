import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Settings } from '../config/schema.ts';
import type { ModelCatalogue } from '../models/catalogue.ts';
import { breakerStates } from '../models/circuit-breaker.ts';
import { noteUse } from '../models/model-use.ts';
import { folderStamp } from '../models/models-folder.ts';
import { type CatalogueParts, openCatalogue, placedModels } from '../models/open-catalogue.ts';
import { ModelFolderWatch } from '../pipeline/model-folder-watch.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import { chance, clock } from './given.ts';
import type { Pipeline } from './pipeline.ts';
import type { Storage } from './storage.ts';

/** The models that there are, and the watch over added ones. */

/** Models that are added or removed while the server runs. */
export function watchModels(
  settings: Settings,
  {
    data,
    storage,
    pipeline,
    logger,
  }: {
    readonly data: DataDirectory;
    readonly storage: Storage;
    readonly pipeline: Pipeline;
    readonly logger: Logger;
  },
): ModelFolderWatch {
  const { catalogue, modelChanges } = pipeline;
  return new ModelFolderWatch({
    ...storage,
    stamp: () => folderStamp(data.path),
    reload: async () => catalogue.replaceAdded(await placedModels({ data: data.path, settings })),
    onReloaded: async () => {
      logger.info({ models: catalogue.added() }, 'the models that were added have changed');
      await modelChanges.start();
    },
    added: () => catalogue.added(),
    note: (counts) => {
      const usual = [settings.embeddingModel, settings.reranker];
      const uses = [...counts].map(([id, collections]) => [id, { collections, usual: usual.includes(id) }]);
      return noteUse(data.path, Object.fromEntries(uses));
    },
    logger,
  });
}

/** Upper bounds of the seconds that requests to model services take. */
const serviceSeconds = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

export async function openModels(
  settings: Settings,
  data: DataDirectory,
  logger: Logger,
  {
    metrics,
    ...hooks
  }: { readonly metrics: Metrics } & Pick<CatalogueParts, 'egress' | 'mayQuote' | 'onRecovered'>,
): Promise<ModelCatalogue> {
  const count = metrics.counter({
    name: 'quarry_model_requests_total',
    help: 'Requests to model services, by how they ended.',
    labels: ['model', 'outcome'],
  });
  const time = metrics.histogram(
    { name: 'quarry_model_request_seconds', help: 'Seconds they took.', labels: ['model'] },
    serviceSeconds,
  );
  const catalogue = await openCatalogue({
    settings,
    data: data.path,
    clock,
    random: () => new DataView(Uint8Array.from(chance.bytes(4)).buffer).getUint32(0) / 2 ** 32,
    logger,
    ...hooks,
    observe: (model, outcome, seconds) => {
      count({ model, outcome }, 1);
      time({ model }, seconds);
    },
  });
  metrics.gauges(
    {
      name: 'quarry_model_breaker',
      help: 'Circuit breakers of model services: 0 closed, 1 half-open, 2 open.',
      label: 'model',
    },
    () =>
      Object.fromEntries(
        catalogue.providers().map(({ model, state }) => [model, breakerStates.indexOf(state)]),
      ),
  );
  return catalogue;
}
