import type { ModelAdmission } from '../admission/model-admission.ts';
import type { Settings } from '../config/schema.ts';
import { defaultEmbeddingModel, defaultReranker } from '../models/registry.ts';
import { describeModels } from '../services/model-details.ts';
import { ModelService } from '../services/models.ts';
import { listDescribedModels } from './models.ts';
import type { Pipeline } from './pipeline.ts';
import { clock } from './runtime.ts';
import type { Storage } from './storage.ts';

interface ModelServiceDependencies extends Pick<Storage, 'meter' | 'collections'> {
  readonly settings: Settings;
  readonly pipeline: Pipeline;
  readonly modelAdmission: ModelAdmission;
}

/** Constructs the service that embeds and reranks texts of callers, and measures its calls. */
export function createModelService({
  settings,
  pipeline,
  modelAdmission,
  meter,
  collections,
}: ModelServiceDependencies): ModelService {
  const { catalog, models, latencies } = pipeline;
  return new ModelService({
    executor: {
      embed: (texts, inputType, options) => {
        const { id } = catalog.getEmbedding(options.model);
        return latencies.measure(id, () => models.embed(texts, inputType, { ...options, model: id }));
      },
      rerank: (model, query, documents, options) =>
        latencies.measure(catalog.getReranker(model).id, () =>
          models.rerank(model, query, documents, options),
        ),
    },
    admission: modelAdmission,
    meter,
    clock,
    modelLookup: {
      list: () => ({
        embedding_models: [...catalog.embeddingNames],
        rerankers: catalog.rerankerNames.filter((name) => !catalog.isExcluded(name)),
        default_embedding_model: catalog.defaultEmbedding.id,
        default_reranker: settings.reranker,
        chat_model: catalog.chat?.model ?? null,
      }),
      describe: (principal) =>
        describeModels({
          models: listDescribedModels(pipeline),
          defaultModels: [catalog.defaultEmbedding.id, settings.reranker],
          legacyModel: defaultEmbeddingModel,
          collections,
          principal,
        }),
      resolveDimensions: (id, requested) => catalog.resolveDimensions(id, requested),
      defaultReranker: settings.reranker ?? defaultReranker,
      checkEmbedding: (name) => catalog.checkEmbedding(name),
      checkReranker: (name) => catalog.checkReranker(name),
      describeEmbedding: (name) => catalog.describeEmbedding(name),
      describeReranker: (name) => catalog.describeReranker(name),
      isSubstitute: (name) => catalog.isSubstitute(name),
      toDimensions: (id, vector, dimensions) => catalog.toDimensions(id, vector, dimensions),
    },
  });
}
