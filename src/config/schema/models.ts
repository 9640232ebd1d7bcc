import {
  enumSetting,
  integerSetting,
  optionalSetting,
  type Setting,
  secondsSetting,
  textSetting,
} from '../setting.ts';
import {
  rerankTemplatePattern,
  serviceUrlAllowed,
  serviceUrlPattern,
  serviceUrlsAllowed,
  serviceUrlsPattern,
} from './url-patterns.ts';

/** Embedding models, rerankers and services that provide them. */
export const modelSettings = {
  reranker: optionalSetting({
    meaning: 'Reranker of queries that do not specify one',
    allowed: 'zerank-2, zerank-1, zerank-1-small, or the name of a custom reranker',
    defaultMeaning: 'none',
  }),
  embeddingModel: optionalSetting({
    meaning: 'Embedding model of new collections; with QUARRY_EMBEDDING_URL, the model name in that service',
    allowed: 'zembed-1, or the name of a custom model',
    defaultMeaning: 'zembed-1, the built-in model',
  }),
  embeddingUrl: optionalSetting({
    pattern: serviceUrlsPattern,
    meaning: 'URL of an OpenAI-compatible embedding service, used instead of the built-in model',
    allowed: serviceUrlsAllowed,
    defaultMeaning: 'none',
  }),
  zembed1Url: optionalSetting({
    pattern: serviceUrlsPattern,
    meaning:
      'URL of an OpenAI-compatible embedding service that runs the open weights of zembed-1; defines texts, dimensions and the alias zembed-1',
    allowed: serviceUrlsAllowed,
    defaultMeaning: 'none',
  }),
  embeddingKey: optionalSetting({
    meaning: 'API key of the embedding service, sent as a bearer token',
    secret: true,
    defaultMeaning: 'none',
  }),
  embeddingDimensions: integerSetting(0, 8_192, 0, {
    meaning: 'Dimensions to keep of the vectors from the embedding service; 0 keeps all',
  }),
  embeddingProjectionsFile: optionalSetting({
    meaning:
      'Safetensors file with the matrices that shorten vectors of the embedding service, for models whose prefixes are not usable vectors',
    allowed: 'a file',
    defaultMeaning: 'none',
  }),
  embeddingQueryPrefix: optionalSetting({
    meaning: 'Prefix added to each query before embedding',
    defaultMeaning: 'nothing',
  }),
  embeddingQuerySuffix: optionalSetting({
    meaning: 'Suffix added to each query before embedding, after it was truncated',
    defaultMeaning: 'nothing',
  }),
  embeddingDocumentPrefix: optionalSetting({
    meaning: 'Prefix added to each document text before embedding',
    defaultMeaning: 'nothing',
  }),
  embeddingDocumentSuffix: optionalSetting({
    meaning: 'Suffix added to each document text before embedding, after it was truncated',
    defaultMeaning: 'nothing',
  }),
  embeddingSpecialTokens: enumSetting(['service', 'none'], 'service', {
    meaning:
      'Special tokens around texts for the embedding service: those that its tokenizer adds (service), or only those in prefixes and suffixes (none), by add_special_tokens',
  }),
  embeddingInputType: enumSetting(['none', 'voyage', 'cohere', 'jina'], 'none', {
    meaning: 'API dialect of the field that distinguishes queries from documents',
  }),
  embeddingEncoding: enumSetting(['float', 'base64'], 'float', {
    meaning: 'Requested encoding of vectors; base64 is a quarter of the size, if the service supports it',
  }),
  rerankUrl: optionalSetting({
    pattern: serviceUrlsPattern,
    meaning: 'URL of a rerank service with the API of Cohere, Jina or TEI',
    allowed: serviceUrlsAllowed,
    defaultMeaning: 'none',
  }),
  zerank2Url: optionalSetting({
    pattern: serviceUrlsPattern,
    meaning:
      'URL of a rerank service that runs the open weights of zerank-2; defines the scale of its scores and the alias zerank-2',
    allowed: serviceUrlsAllowed,
    defaultMeaning: 'none',
  }),
  rerankModel: optionalSetting({
    meaning: 'Name of the reranker at QUARRY_RERANK_URL, in requests to the service and in queries',
    defaultMeaning: 'none',
  }),
  rerankKey: optionalSetting({
    meaning: 'API key of the rerank service, sent as a bearer token',
    secret: true,
    defaultMeaning: 'none',
  }),
  rerankDialect: enumSetting(['cohere', 'tei'], 'cohere', {
    meaning: 'API dialect of the rerank service: Cohere (also Jina), or TEI',
  }),
  rerankTemplate: optionalSetting({
    pattern: rerankTemplatePattern,
    meaning: 'Text around {query} and {document}, for rerank services that join both texts as they are',
    allowed: 'a string with {query} and, after it, {document}, each exactly once',
    defaultMeaning: 'none: the service has the template',
  }),
  rerankScores: enumSetting(['probability', 'logit'], 'probability', {
    meaning: 'Scale of the scores from the rerank service: probabilities from 0 to 1, or logits',
  }),
  rerankLogitScale: integerSetting(1, 1_000, 1, {
    meaning:
      'Divisor of logits from QUARRY_RERANK_URL before the sigmoid function, with QUARRY_RERANK_SCORES=logit',
  }),
  chatUrl: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'Base URL of an OpenAI-compatible chat service, which writes the answers of POST /v1/answers',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'none: answers are disabled',
  }),
  chatModel: optionalSetting({
    meaning: 'Model name in the service at QUARRY_CHAT_URL',
    defaultMeaning: 'none',
  }),
  chatKey: optionalSetting({
    meaning: 'API key for QUARRY_CHAT_URL, sent as a bearer token',
    secret: true,
    defaultMeaning: 'none',
  }),
  chatDialect: enumSetting(['compatible', 'openai'], 'compatible', {
    meaning:
      'Fields of requests to QUARRY_CHAT_URL: max_tokens and temperature (compatible), or max_completion_tokens, for current models of OpenAI',
  }),
  chatSecondsMax: secondsSetting(1, 600, 50, {
    meaning: 'Timeout for one answer of the chat model; replies that are not streamed end after 55 seconds',
  }),
  chatRequestsMax: integerSetting(1, 256, 4, {
    meaning: 'Answers that the chat model writes at the same time; organizations share them fairly',
  }),
  modelAliases: optionalSetting({
    pattern: /^[^\s,=]+=[^\s,=]+(,[^\s,=]+=[^\s,=]+)*$/,
    meaning: 'Aliases of models, for clients that use other names',
    allowed: 'pairs such as zembed-1=my-model,zerank-2=my-reranker',
    defaultMeaning: 'none',
  }),
  contractModels: enumSetting(['builtin', 'real', 'refuse'], 'builtin', {
    meaning:
      'Models behind zembed-1 and zerank-*, the names of the hosted service, unless an alias maps the name: the built-in models (builtin), or none, with status 404 (refuse); real requires aliases for zembed-1 and zerank-2',
  }),
  typoTolerance: enumSetting(['on', 'off'], 'on', {
    meaning: 'Typo tolerance for query words that no document contains (edit distance 1 or 2)',
  }),
  withoutModel: enumSetting(['degrade', 'refuse'], 'degrade', {
    meaning:
      'Queries whose model is unavailable: run without it, with a warning (degrade), or rejected with status 503 (refuse)',
  }),
  modelThreads: integerSetting(1, 256, 1, {
    meaning: 'Threads per run of a custom model; several runs can be active at the same time',
    unit: 'threads',
  }),
  modelBatchTokens: integerSetting(128, 1_000_000, 2_048, {
    meaning: 'Maximum tokens per run of a custom model, padding included; a longer single text runs alone',
  }),
  modelExecutionProviders: textSetting('cpu', {
    pattern: /^[a-z]+(,[a-z]+)*$/,
    meaning: 'Execution providers of onnxruntime for custom models, in order of preference',
    allowed: 'names separated by commas, such as cuda,cpu or coreml,cpu',
  }),
  providerSecondsMax: secondsSetting(1, 600, 30, {
    meaning: 'Timeout for one request to a model service',
  }),
  providerQueryMsMax: integerSetting(50, 50_000, 3_000, {
    meaning: 'Timeout for a query at a model service, over all attempts',
    unit: 'milliseconds',
  }),
  providerHedgeMs: integerSetting(0, 50_000, 500, {
    meaning:
      'Time without a reply after which a query is also sent to a second endpoint, if the service has several; 0 disables it',
    unit: 'milliseconds',
  }),
  providerRequestsMax: integerSetting(1, 256, 4, {
    meaning: 'Concurrent requests to one model service; if more than one, one is reserved for queries',
  }),
  providerTextsMax: integerSetting(1, 2_048, 32, { meaning: 'Maximum texts per request to a model service' }),
  providerCharactersMax: integerSetting(1_000, 10_000_000, 64_000, {
    meaning: 'Maximum characters per request to a model service; a longer single text is sent alone',
  }),
  providerTextCharactersMax: integerSetting(100, 1_000_000, 16_000, {
    meaning: 'Maximum characters per text for a model service; longer texts are truncated',
  }),
} satisfies Record<string, Setting>;
