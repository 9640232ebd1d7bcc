import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Egress } from '../egress/egress.ts';
import type { ChatDialect } from './chat-model.ts';
import type { ContractMode } from './hosted-names.ts';
import type { InputTypeField } from './http-embedder.ts';
import type { RerankDialect } from './http-reranker.ts';
import type { RequestOutcome } from './model-provider.ts';

/** Settings that define the models; `config/schema` describes each. */
export interface ModelSettings {
  readonly embeddingModel: string | null;
  readonly embeddingUrl: string | null;
  readonly zembed1Url: string | null;
  readonly embeddingKey: string | null;
  readonly embeddingDimensions: number;
  readonly embeddingQueryPrefix: string | null;
  readonly embeddingQuerySuffix: string | null;
  readonly embeddingDocumentPrefix: string | null;
  readonly embeddingDocumentSuffix: string | null;
  readonly embeddingSpecialTokens: 'service' | 'none';
  readonly embeddingInputType: InputTypeField;
  readonly embeddingEncoding: 'float' | 'base64';
  readonly embeddingProjectionsFile: string | null;
  readonly rerankUrl: string | null;
  readonly zerank2Url: string | null;
  readonly rerankModel: string | null;
  readonly rerankKey: string | null;
  readonly rerankDialect: RerankDialect;
  readonly rerankTemplate: string | null;
  readonly rerankScores: 'probability' | 'logit';
  readonly rerankLogitScale: number;
  readonly chatUrl: string | null;
  readonly chatModel: string | null;
  readonly chatKey: string | null;
  readonly chatDialect: ChatDialect;
  readonly modelAliases: string | null;
  readonly contractModels: ContractMode;
  readonly reranker: string | null;
  readonly modelThreads: number;
  readonly modelBatchTokens: number;
  readonly modelExecutionProviders: string;
  readonly providerSecondsMax: number;
  readonly providerQueryMsMax: number;
  readonly providerHedgeMs: number;
  readonly providerRequestsMax: number;
  readonly providerTextsMax: number;
  readonly providerCharactersMax: number;
  readonly providerTextCharactersMax: number;
}

export interface CatalogDependencies {
  readonly settings: ModelSettings;
  /** Path of the data directory. */
  readonly dataFolder: string;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** See `ModelProviderOptions`. */
  readonly mayLogReply: () => boolean;
  readonly onRecovered: (model: string) => void;
  /** Called after every request to a service. */
  readonly observe: (model: string, outcome: RequestOutcome, seconds: number) => void;
}
