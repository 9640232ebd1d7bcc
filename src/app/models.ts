import type { Settings } from '../config/schema.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { ModelFolderWatcher } from '../ingest/model-folder-watcher.ts';
import type { ModelCatalog } from '../models/catalog.ts';
import { breakerStates } from '../models/circuit-breaker.ts';
import { listInstalledModels, loadModelCatalog } from '../models/load-model-catalog.ts';
import type { CatalogDependencies } from '../models/model-settings.ts';
import { writeModelUsage } from '../models/model-usage.ts';
import { readModelsFolderMtimeMs } from '../models/models-folder.ts';
import type { DescribedModel } from '../services/model-details.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { Pipeline } from './pipeline.ts';
import { clock, random } from './runtime.ts';
import type { Storage } from './storage.ts';

/** Model catalog, and detection of models that are added or removed while the server runs. */

/** Describes all models, with their health and latency. */
export function listDescribedModels({
  catalog,
  latencies,
}: Pick<Pipeline, 'catalog' | 'latencies'>): DescribedModel[] {
  return catalog.list().map((model) => {
    const { id, kind, backend, aliases } = model;
    const provider = backend !== 'built-in' && 'provider' in backend ? backend.provider : null;
    return {
      id,
      kind,
      source: provider !== null ? 'service' : backend === 'built-in' ? 'built-in' : 'added',
      dimensions: model.kind === 'embedding' ? model.dimensions : null,
      aliases,
      isAvailable: provider === null || provider.health.lastError === null,
      latency: latencies.summarize(id),
    };
  });
}

/** Watches the model folder for models that are added or removed while the server runs. */
export function createModelFolderWatcher(
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
): ModelFolderWatcher {
  const { catalog, modelChanges } = pipeline;
  return new ModelFolderWatcher({
    store: storage.store,
    collections: storage.collections,
    readStamp: () => readModelsFolderMtimeMs(data.path),
    reload: async () => catalog.replaceAdded(await listInstalledModels({ dataFolder: data.path, settings })),
    onReloaded: async () => {
      logger.info({ models: catalog.listAddedNames() }, 'custom models reloaded');
      await modelChanges.start();
    },
    listAddedModels: () => catalog.listAddedNames(),
    writeUsage: (counts) => {
      const defaultModels = [settings.embeddingModel, settings.reranker];
      const usage = [...counts].map(([id, collections]) => [
        id,
        { collections, usual: defaultModels.includes(id) },
      ]);
      return writeModelUsage(data.path, Object.fromEntries(usage));
    },
    logger,
  });
}

/** Histogram buckets of request durations of model services, in seconds. */
const requestSecondsBuckets = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

export async function openModelCatalog(
  settings: Settings,
  data: DataDirectory,
  logger: Logger,
  {
    metrics,
    egress,
    mayLogReply,
    onRecovered,
  }: { readonly metrics: Metrics } & Pick<CatalogDependencies, 'egress' | 'mayLogReply' | 'onRecovered'>,
): Promise<ModelCatalog> {
  const countRequests = metrics.counter({
    name: 'quarry_model_requests_total',
    help: 'Requests to model services by outcome.',
    labels: ['model', 'outcome'],
  });
  const observeSeconds = metrics.histogram(
    {
      name: 'quarry_model_request_seconds',
      help: 'Duration of requests to model services in seconds.',
      labels: ['model'],
    },
    requestSecondsBuckets,
  );
  const catalog = await loadModelCatalog({
    settings,
    dataFolder: data.path,
    clock,
    random: () => new DataView(Uint8Array.from(random.bytes(4)).buffer).getUint32(0) / 2 ** 32,
    logger,
    egress,
    mayLogReply,
    onRecovered,
    observe: (model, outcome, seconds) => {
      countRequests({ model, outcome }, 1);
      observeSeconds({ model }, seconds);
    },
  });
  metrics.gauges(
    {
      name: 'quarry_model_breaker',
      help: 'State of circuit breakers of model services: 0 closed, 1 half-open, 2 open.',
      label: 'model',
    },
    () =>
      Object.fromEntries(
        catalog.listProviders().map(({ model, state }) => [model, breakerStates.indexOf(state)]),
      ),
  );
  return catalog;
}
