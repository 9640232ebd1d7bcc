import { logLevels } from '../core/log-levels.ts';
import {
  booleanSetting,
  enumSetting,
  integerSetting,
  optionalSetting,
  type Setting,
  type SettingOptions,
  type SettingValue,
  textSetting,
} from './setting.ts';

const megabyte = 1_000_000;
const gigabyte = 1_000_000_000;
const keyPattern = /^[\x21-\x7e]{16,256}$/;
const keyAllowed = '16 to 256 printable ASCII characters without spaces';
const serviceUrlPattern = /^https?:\/\/[^\s?#@]+$/;
const serviceUrlAllowed = 'an http:// or https:// URL without user, query or fragment';
const issuerUrlPattern =
  /^(https:\/\/[^\s?#@]+[^\s?#@/]|http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(\/[^\s?#@]*[^\s?#@/])?)$/;
const issuerUrlAllowed = 'an https:// URL without a trailing slash; http:// for this machine only';
const passwordHashPattern =
  /^\$argon2id\$v=19\$m=\d{4,7},t=\d{1,2},p=\d{1,2}\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/;
const uuidPattern = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

const meteredPattern = '(documents|pages|queries|embed_tokens|rerank_tokens)(\\/[1-9]\\d{0,11})?=[^\\s,=]+';
const meteredPairsPattern = new RegExp(`^${meteredPattern}(,${meteredPattern})*$`);
const topicPattern = 'arn:aws[a-z-]*:sns:[a-z0-9-]+:\\d{12}:[A-Za-z0-9_-]+';
const topicListPattern = new RegExp(`^${topicPattern}(,${topicPattern})*$`);

const bytesSetting = (minimum: number, maximum: number, defaultValue: number, options: SettingOptions) =>
  integerSetting(minimum, maximum, defaultValue, { unit: 'bytes', ...options });
const secondsSetting = (minimum: number, maximum: number, defaultValue: number, options: SettingOptions) =>
  integerSetting(minimum, maximum, defaultValue, { unit: 'seconds', ...options });
const threadsSetting = (purpose: string, defaultMeaning: string) =>
  integerSetting(1, 256, null, { meaning: `Threads that ${purpose}`, unit: 'threads', defaultMeaning });
const optionalLimit = (unit: string, meaning: string, defaultValue = 0) =>
  integerSetting(0, 1_000_000_000_000_000, defaultValue, { meaning: `${meaning}; 0 means no limit`, unit });
const perMinuteLimit = (defaultValue: number, unit: string, meaning: string) =>
  integerSetting(1, 1_000_000_000_000, defaultValue, { meaning, unit });

/**
 * All settings of Quarry; the only source of their types, bounds, defaults and descriptions. A property
 * `uploadBytesMax` is the variable QUARRY_UPLOAD_BYTES_MAX, the flag --upload-bytes-max and the key
 * "uploadBytesMax" of the file. To add a setting, add a line.
 */
const settingTable = {
  // HTTP, authentication, mail and egress
  port: integerSetting(0, 65_535, 8720, { meaning: 'TCP port to listen on; 0 lets the system choose one' }),
  host: textSetting('127.0.0.1', {
    meaning: 'Address to listen on; 0.0.0.0 or :: also accepts connections from other machines',
  }),
  baseUrl: optionalSetting({
    pattern: /^https?:\/\/[^\s?#]+$/,
    meaning: 'Public URL of the server; file and image URLs start with it',
    allowed: 'an http:// or https:// URL without query or fragment',
    defaultMeaning: 'the Host header of each request',
  }),
  trustProxy: booleanSetting(false, {
    meaning: 'Trust the x-forwarded-* headers; enable only behind a proxy that sets them',
  }),
  http: enumSetting(['auto', 'uws', 'node'], 'auto', {
    meaning: 'HTTP server: uWebSockets.js, node:http, or the first of them that loads',
  }),
  apiKey: optionalSetting({
    pattern: keyPattern,
    meaning: 'serve: an API key of the first organization; other commands: the API key to send',
    allowed: keyAllowed,
    secret: true,
    defaultMeaning: 'a random key, printed at the first start',
  }),
  adminKey: optionalSetting({
    pattern: keyPattern,
    meaning: 'serve: the key for /v1/admin; other commands: the admin key to send',
    allowed: keyAllowed,
    secret: true,
    defaultMeaning: 'none: administration is disabled',
  }),
  adminPasswordHash: optionalSetting({
    pattern: passwordHashPattern,
    meaning: 'Hash of the administrator password for /api/admin/login',
    allowed: 'the output of `quarry hash-password`',
    secret: true,
    defaultMeaning: 'none: the administrator cannot sign in',
  }),
  signUp: enumSetting(['open', 'invited'], 'open', {
    meaning: 'Sign-up: open to everyone, or limited to invited addresses',
  }),
  ownedOrganisationsMax: integerSetting(0, 10_000, 10, {
    meaning: 'Organizations that one user may own; with 0, only the administrator creates organizations',
    unit: 'organizations',
  }),
  auditDays: integerSetting(0, 36_500, 365, {
    meaning: 'Retention of audit log entries; 0 keeps all entries',
    unit: 'days',
  }),
  mailUrl: optionalSetting({
    pattern: /^(smtps?:\/\/[^\s/]+\/?|file:\/\/\/[^\s]+|console:)$/,
    meaning: 'Transport for sign-in links and invitations',
    allowed:
      'smtp://user:password@host:587, smtps://user:password@host:465, file:///a/folder for .eml files, or console: to print them',
    secret: true,
    defaultMeaning: 'none: no mail is sent',
  }),
  mailFrom: textSetting('quarry@localhost', {
    pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
    meaning: 'Sender address of mails',
    allowed: 'an email address without a display name',
  }),
  googleClientId: optionalSetting({
    meaning: 'Client id at the OpenID Connect issuer, for /api/auth/google',
    defaultMeaning: 'none: this sign-in is disabled',
  }),
  googleClientSecret: optionalSetting({
    meaning: 'Secret of googleClientId',
    secret: true,
    defaultMeaning: 'none',
  }),
  oidcIssuer: textSetting('https://accounts.google.com', {
    pattern: issuerUrlPattern,
    meaning: 'OpenID Connect issuer for /api/auth/google',
    allowed: issuerUrlAllowed,
  }),
  githubClientId: optionalSetting({
    meaning: 'Client id at GitHub, for /api/auth/github',
    defaultMeaning: 'none: this sign-in is disabled',
  }),
  githubClientSecret: optionalSetting({
    meaning: 'Secret of githubClientId',
    secret: true,
    defaultMeaning: 'none',
  }),
  githubBaseUrl: textSetting('https://github.com', {
    pattern: issuerUrlPattern,
    meaning: 'URL of GitHub or of a GitHub Enterprise server',
    allowed: issuerUrlAllowed,
  }),
  egress: enumSetting(['configured', 'none'], 'configured', {
    meaning: 'Outgoing connections: only to hosts in the settings (configured), or none',
  }),
  egressHosts: optionalSetting({
    pattern:
      /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?(,(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?)*$/,
    meaning: 'Additional hosts for outgoing connections, such as endpoints of an identity provider',
    allowed: 'host or host:port, separated by commas',
    defaultMeaning: 'none',
  }),
  drainSeconds: secondsSetting(0, 3_600, 30, {
    meaning: 'Grace period for running requests after SIGTERM',
  }),
  logLevel: enumSetting(logLevels, 'info', { meaning: 'Minimum level of logged events' }),

  // disk and memory
  data: textSetting('./data', { meaning: 'Data directory; relative to the working directory' }),
  uploadBytesMax: bytesSetting(1_000, 100 * gigabyte, 200 * megabyte, {
    meaning: 'Maximum size of a file',
  }),
  bodyBytesMax: bytesSetting(100_000, 500 * megabyte, 270 * megabyte, {
    meaning: 'Maximum size of a JSON body; base64 adds one third to a file',
  }),
  queueDocumentsMax: integerSetting(1, 100_000_000, 200_000, {
    meaning: 'Maximum documents in the ingest queue; at the limit, adds get status 429',
    unit: 'documents',
  }),
  memoryBytesMax: integerSetting(256 * megabyte, 100_000 * gigabyte, null, {
    meaning: 'Memory of the process, without mapped files; at the limit, adds get status 429',
    unit: 'bytes',
    defaultMeaning: '80 % of the memory of the machine or container',
  }),
  queryCacheBytes: bytesSetting(0, 100_000 * gigabyte, 128 * megabyte, {
    meaning: 'Size of the cache of document texts for queries; 0 disables it',
  }),
  queryVectorCacheBytes: bytesSetting(0, 100_000 * gigabyte, 16 * megabyte, {
    meaning: 'Size of the cache of query vectors of custom models; 0 disables it',
  }),
  queriesRunningMax: integerSetting(1, 4_096, 128, {
    meaning:
      'Concurrent queries without a reranker; others are queued, with round robin between organizations',
    unit: 'queries',
  }),
  rerankedQueriesRunningMax: integerSetting(1, 4_096, null, {
    meaning:
      'Concurrent queries with a local reranker; others are queued, with round robin between organizations',
    unit: 'queries',
    defaultMeaning: 'one more than QUARRY_RERANK_THREADS',
  }),
  diskReserveBytes: bytesSetting(0, 100_000 * gigabyte, gigabyte, {
    meaning: 'Free disk space to keep; below it, writes get status 429',
  }),
  pageCacheBytes: bytesSetting(0, 100_000 * gigabyte, gigabyte, {
    meaning:
      'Size of the disk cache for page images and LibreOffice conversions; the least used entries are evicted first',
  }),
  snapshotSeconds: secondsSetting(5, 86_400, 300, {
    meaning:
      'Interval between snapshots of the search shards; a shorter interval speeds up recovery after a crash',
  }),

  // worker pools, search and OCR
  parseThreads: threadsSetting('parse files, each with its own parser process', 'half the cores, 1 to 8'),
  chunkThreads: threadsSetting('chunk, analyze and embed documents', 'half the cores, 1 to 16'),
  embedThreads: threadsSetting(
    'embed long queries and the input of the embed operation',
    'half the cores, 1 to 16',
  ),
  rerankThreads: threadsSetting('run the reranking model', 'a quarter of the cores, 1 to 8'),
  searchThreads: threadsSetting('search the shards', 'the number of cores, at most 64'),
  engineKernels: enumSetting(['auto', 'avx512', 'avx2', 'neon', 'scalar'], 'auto', {
    meaning: 'SIMD instruction set of the search engine; auto selects the fastest one available',
  }),
  searchRecall: integerSetting(500, 999, 990, {
    unit: 'per mille',
    meaning: 'Target recall of vector search; higher is slower',
  }),
  parseSecondsMax: secondsSetting(1, 86_400, 600, {
    meaning: 'Timeout for parsing one document',
  }),
  parseStallSeconds: secondsSetting(1, 86_400, 20, {
    meaning: 'Timeout for parsing one document without a new page',
  }),
  ocrEngine: enumSetting(['auto', 'tesseract', 'embedded', 'off'], 'auto', {
    meaning:
      'OCR engine: the installed tesseract, the embedded engine, the first of them that has the languages (auto), or none (off)',
  }),
  ocrLanguages: textSetting('eng', {
    pattern: /^[A-Za-z][A-Za-z0-9_/-]*(\+[A-Za-z][A-Za-z0-9_/-]*)*$/,
    meaning: 'Languages for OCR; the server does not start if one is not installed',
    allowed: 'names of Tesseract language data joined with +, such as eng+deu',
  }),
  ocrDataFolder: optionalSetting({
    meaning: 'Folder of additional Tesseract language data for the embedded engine',
    allowed: 'a folder with files such as deu.traineddata or deu.traineddata.gz',
    defaultMeaning: 'none',
  }),
  ocrPagesMax: integerSetting(0, 5_000, 200, {
    meaning: 'Maximum pages per document that are read by OCR',
    unit: 'pages',
  }),
  ocrPageSecondsMax: secondsSetting(1, 3_600, 60, { meaning: 'Timeout for OCR of one page' }),
  ocrSecondsMax: secondsSetting(1, 86_400, 480, {
    meaning:
      'Time limit for OCR per document, at most four fifths of parseSecondsMax; finished pages are kept',
  }),
  toolsIsolation: enumSetting(['required', 'preferred', 'off'], 'preferred', {
    meaning:
      'Sandbox for parser processes and external tools, without access to data and network: the strongest that the host supports; with required, tools do not run without full isolation',
  }),
  office: enumSetting(['auto', 'off'], 'auto', {
    meaning: 'LibreOffice: used if installed (auto), or not (off)',
  }),
  officeSecondsMax: secondsSetting(1, 3_600, 120, {
    meaning: 'Timeout for converting one file with LibreOffice',
  }),

  // models
  reranker: optionalSetting({
    meaning: 'Reranker of queries that do not specify one',
    allowed: 'zerank-2, zerank-1, zerank-1-small, or the name of a custom reranker',
    defaultMeaning: 'none',
  }),
  embeddingModel: optionalSetting({
    meaning: 'Embedding model of new collections; with embeddingUrl, the model name at that service',
    allowed: 'zembed-1, or the name of a custom model',
    defaultMeaning: 'zembed-1, the built-in model',
  }),
  embeddingUrl: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'URL of an embedding service with the API of OpenAI, used instead of the built-in model',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'none',
  }),
  embeddingKey: optionalSetting({
    meaning: 'API key for embeddingUrl, sent as a bearer token',
    secret: true,
    defaultMeaning: 'none',
  }),
  embeddingDimensions: integerSetting(0, 8_192, 0, {
    meaning: 'Dimensions to keep of the vectors of embeddingUrl; 0 keeps all',
  }),
  embeddingQueryPrefix: optionalSetting({
    meaning: 'Prefix added to each query before embedding',
    defaultMeaning: 'nothing',
  }),
  embeddingDocumentPrefix: optionalSetting({
    meaning: 'Prefix added to each document text before embedding',
    defaultMeaning: 'nothing',
  }),
  embeddingInputType: enumSetting(['none', 'voyage', 'cohere', 'jina'], 'none', {
    meaning: 'API dialect of the field that distinguishes queries from documents',
  }),
  embeddingEncoding: enumSetting(['float', 'base64'], 'float', {
    meaning: 'Requested encoding of vectors; base64 is a quarter of the size, if the service supports it',
  }),
  rerankUrl: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'URL of a rerank service with the API of Cohere, Jina or TEI',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'none',
  }),
  rerankModel: optionalSetting({
    meaning: 'Name of the reranker at rerankUrl, in requests to the service and in queries',
    defaultMeaning: 'none',
  }),
  rerankKey: optionalSetting({
    meaning: 'API key for rerankUrl, sent as a bearer token',
    secret: true,
    defaultMeaning: 'none',
  }),
  rerankDialect: enumSetting(['cohere', 'tei'], 'cohere', {
    meaning: 'API dialect of rerankUrl: Cohere (also Jina), or TEI',
  }),
  rerankScores: enumSetting(['probability', 'logit'], 'probability', {
    meaning: 'Scale of the scores of rerankUrl: probabilities from 0 to 1, or logits',
  }),
  modelAliases: optionalSetting({
    pattern: /^[^\s,=]+=[^\s,=]+(,[^\s,=]+=[^\s,=]+)*$/,
    meaning: 'Aliases of models, for clients that use other names',
    allowed: 'pairs such as zembed-1=my-model,zerank-2=my-reranker',
    defaultMeaning: 'none',
  }),
  typoTolerance: enumSetting(['on', 'off'], 'on', {
    meaning: 'Typo tolerance for query words that no document contains (edit distance 1 or 2)',
  }),
  withoutModel: enumSetting(['degrade', 'refuse'], 'degrade', {
    meaning:
      'Queries whose model is unavailable: answered without it and with a warning (degrade), or rejected with status 503 (refuse)',
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

  // tiers
  freeBytesPerMinuteFast: perMinuteLimit(500_000, 'bytes/minute', 'Tier free: fast model calls'),
  freeBytesPerMinuteSlow: perMinuteLimit(5_000_000, 'bytes/minute', 'Tier free: slow model calls'),
  freeRerankRequestsPerMinute: perMinuteLimit(1_000, 'requests/minute', 'Tier free: rerank requests'),
  freeRequestsPerMinute: optionalLimit('requests/minute', 'Tier free: requests of any kind'),
  freeQueriesPerMinute: optionalLimit('queries/minute', 'Tier free: queries'),
  freeDocumentBytesPerMinute: optionalLimit('bytes/minute', 'Tier free: raw bytes of received documents'),
  freeDocumentsMax: optionalLimit('documents', 'Tier free: stored documents', 10_000),
  freeStorageBytesMax: optionalLimit('bytes', 'Tier free: raw bytes of stored documents', gigabyte),
  freeIngestDocumentsMax: optionalLimit('documents', 'Tier free: documents in the ingest queue'),
  starterBytesPerMinuteFast: perMinuteLimit(2_500_000, 'bytes/minute', 'Tier starter: fast model calls'),
  starterBytesPerMinuteSlow: perMinuteLimit(20_000_000, 'bytes/minute', 'Tier starter: slow model calls'),
  starterRerankRequestsPerMinute: perMinuteLimit(5_000, 'requests/minute', 'Tier starter: rerank requests'),
  starterRequestsPerMinute: optionalLimit('requests/minute', 'Tier starter: requests of any kind'),
  starterQueriesPerMinute: optionalLimit('queries/minute', 'Tier starter: queries'),
  starterDocumentBytesPerMinute: optionalLimit(
    'bytes/minute',
    'Tier starter: raw bytes of received documents',
  ),
  starterDocumentsMax: optionalLimit('documents', 'Tier starter: stored documents'),
  starterStorageBytesMax: optionalLimit('bytes', 'Tier starter: raw bytes of stored documents'),
  starterIngestDocumentsMax: optionalLimit('documents', 'Tier starter: documents in the ingest queue'),
  teamsBytesPerMinuteFast: perMinuteLimit(10_000_000, 'bytes/minute', 'Tier teams: fast model calls'),
  teamsBytesPerMinuteSlow: perMinuteLimit(100_000_000, 'bytes/minute', 'Tier teams: slow model calls'),
  teamsRerankRequestsPerMinute: perMinuteLimit(20_000, 'requests/minute', 'Tier teams: rerank requests'),
  teamsRequestsPerMinute: optionalLimit('requests/minute', 'Tier teams: requests of any kind'),
  teamsQueriesPerMinute: optionalLimit('queries/minute', 'Tier teams: queries'),
  teamsDocumentBytesPerMinute: optionalLimit('bytes/minute', 'Tier teams: raw bytes of received documents'),
  teamsDocumentsMax: optionalLimit('documents', 'Tier teams: stored documents'),
  teamsStorageBytesMax: optionalLimit('bytes', 'Tier teams: raw bytes of stored documents'),
  teamsIngestDocumentsMax: optionalLimit('documents', 'Tier teams: documents in the ingest queue'),

  // payments
  stripeSecretKey: optionalSetting({
    pattern: /^[rs]k_(test|live)_[\x21-\x7e]{8,500}$/,
    meaning: 'Secret or restricted key of the Stripe account that takes payments',
    allowed: 'a key that begins with sk_test_, sk_live_, rk_test_ or rk_live_',
    secret: true,
    defaultMeaning: 'none: payments are disabled; administrators set the tiers',
  }),
  stripeWebhookSecret: optionalSetting({
    pattern: /^[\x21-\x7e]{8,512}$/,
    meaning: 'Signing secret of the webhook at /api/billing/webhook',
    allowed: 'the output of `quarry billing setup`, such as whsec_...',
    secret: true,
    defaultMeaning: 'none: webhooks are disabled; changes are detected on demand or within an hour',
  }),
  stripeApiBase: textSetting('https://api.stripe.com', {
    pattern: /^https?:\/\/[^\s?#@/]+\/?$/,
    meaning: 'Base URL of the Stripe API; for tests with an emulator',
    allowed: 'an http:// or https:// URL without path; a live key requires https://',
  }),
  stripeSecondsMax: secondsSetting(1, 60, 10, {
    meaning: 'Timeout for one attempt of a call to Stripe',
  }),
  stripeAnswerSecondsMax: secondsSetting(1, 50, 25, {
    meaning: 'Timeout for the reply to a billing call; the change continues in the background',
  }),
  plansFile: optionalSetting({
    meaning: 'JSON file with prices and limits of the tiers',
    allowed: 'a file in the format of docs/guides/payments.md',
    defaultMeaning: 'none: the prices in docs/guides/payments.md, and the limits of the settings above',
  }),

  // marketplaces
  awsMarketplace: booleanSetting(false, {
    meaning: 'Accept subscriptions from AWS Marketplace at /api/marketplaces/aws',
  }),
  awsRegion: textSetting('us-east-1', {
    pattern: /^[a-z]{2}(-[a-z]+)+-\d$/,
    meaning: 'Region of the metering service of AWS Marketplace',
    allowed: 'a region such as us-east-1',
  }),
  awsEndpoint: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'URL that replaces the endpoints of AWS Marketplace, for tests',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'the endpoints of the region',
  }),
  awsAccessKeyId: optionalSetting({
    meaning: 'Access key of the seller at AWS',
    defaultMeaning: 'the credentials that the AWS SDK finds, such as the role of the instance',
  }),
  awsSecretAccessKey: optionalSetting({
    meaning: 'Secret of awsAccessKeyId',
    secret: true,
    defaultMeaning: 'as for awsAccessKeyId',
  }),
  awsProductCodes: optionalSetting({
    pattern: /^[^\s,]+(,[^\s,]+)*$/,
    meaning: 'Product codes of this server at AWS Marketplace',
    allowed: 'product codes separated by commas',
    defaultMeaning: 'all products of the seller',
  }),
  awsTier: enumSetting(['starter', 'teams', 'enterprise'], 'teams', {
    meaning: 'Tier of subscriptions without contract dimensions',
  }),
  awsTiers: optionalSetting({
    pattern: /^[^\s,=]+=(starter|teams|enterprise)(,[^\s,=]+=(starter|teams|enterprise))*$/,
    meaning: 'Tiers by contract dimension',
    allowed: 'pairs such as small=starter,large=teams',
    defaultMeaning: 'none: awsTier for all subscriptions',
  }),
  awsDimensions: optionalSetting({
    pattern: meteredPairsPattern,
    meaning: 'Usage reported to AWS: metric, units per metered unit, and metering dimension',
    allowed:
      'pairs such as queries/1000=queries_1k,embed_tokens/1000000=embed_1m; metrics are documents, pages, queries, embed_tokens and rerank_tokens',
    defaultMeaning: 'none: no usage is reported',
  }),
  awsTopicArns: optionalSetting({
    pattern: topicListPattern,
    meaning: 'SNS topics accepted at /api/marketplaces/aws/events',
    allowed: 'ARNs such as arn:aws:sns:us-east-1:123456789012:name, separated by commas',
    defaultMeaning: 'none: messages get status 503',
  }),
  awsSnsUrl: optionalSetting({
    pattern: /^https?:\/\/[^\s/?#@]+$/,
    meaning: 'Origin that replaces SNS for certificates and confirmations, for tests',
    allowed: 'an origin such as https://sns.us-east-1.amazonaws.com',
    defaultMeaning: 'SNS in the region of the topic',
  }),
  vercelClientId: optionalSetting({
    meaning: 'Client id of the Vercel integration, for /api/marketplaces/vercel',
    defaultMeaning: 'none: the Vercel integration is disabled',
  }),
  vercelClientSecret: optionalSetting({
    meaning: 'Secret of vercelClientId, which also signs webhooks',
    secret: true,
    defaultMeaning: 'none',
  }),
  vercelApiUrl: textSetting('https://api.vercel.com', {
    pattern: issuerUrlPattern,
    meaning: 'URL of the Vercel API',
    allowed: issuerUrlAllowed,
  }),
  vercelNextHosts: textSetting('vercel.com', {
    pattern: /^[a-z0-9.-]+(,[a-z0-9.-]+)*$/,
    meaning: 'Hosts to which the browser may be redirected after an installation',
    allowed: 'host names separated by commas',
  }),
  vercelTier: enumSetting(['none', 'starter', 'teams', 'enterprise'], 'none', {
    meaning: 'Tier granted by a Vercel installation',
  }),

  // command-line client
  url: textSetting('http://127.0.0.1:8720', {
    pattern: /^https?:\/\/[^\s?#]+$/,
    meaning: 'URL of the server for client commands',
    allowed: 'an http:// or https:// URL without query or fragment',
  }),
  organization: optionalSetting({
    pattern: uuidPattern,
    meaning:
      'Organization for `quarry keys`, `audit` and `doctor`, and for other commands with a session token as key',
    allowed: 'a UUID',
    defaultMeaning: 'none: the server prints the id of its first organization at startup',
  }),
} satisfies Record<string, Setting>;

export type SettingName = keyof typeof settingTable;
export type Settings = { readonly [name in SettingName]: SettingValue<(typeof settingTable)[name]> };

export const settingNames = Object.keys(settingTable) as SettingName[];

export function findSetting(name: SettingName): Setting {
  return settingTable[name];
}

/** Returns the environment variable of a setting: QUARRY_UPLOAD_BYTES_MAX for `uploadBytesMax`. */
export function variableName(name: string): string {
  return `QUARRY_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Returns the flag of a setting: --upload-bytes-max for `uploadBytesMax`. */
export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
