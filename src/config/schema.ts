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
const serviceUrlAllowed = 'an http:// or https:// address without user, query or fragment';
const issuerUrlPattern =
  /^(https:\/\/[^\s?#@]+[^\s?#@/]|http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(\/[^\s?#@]*[^\s?#@/])?)$/;
const issuerUrlAllowed = 'an https:// address without a slash at the end; http:// on this machine only';
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
  integerSetting(0, 1_000_000_000_000_000, defaultValue, { meaning: `${meaning}; 0 is no limit`, unit });
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
    meaning: 'Address to listen on; 0.0.0.0 or :: serves other machines too',
  }),
  baseUrl: optionalSetting({
    pattern: /^https?:\/\/[^\s?#]+$/,
    meaning: 'Address under which clients reach the server; file and image addresses start with it',
    allowed: 'an http:// or https:// address without query or fragment',
    defaultMeaning: 'the Host header of each request',
  }),
  trustProxy: booleanSetting(false, {
    meaning: 'Believe the x-forwarded-* headers; only behind a proxy that sets them',
  }),
  http: enumSetting(['auto', 'uws', 'node'], 'auto', {
    meaning: 'HTTP server: uWebSockets.js, node:http, or the first of them that loads',
  }),
  apiKey: optionalSetting({
    pattern: keyPattern,
    meaning: 'serve: an API key of the first organization; other commands: the key they send',
    allowed: keyAllowed,
    secret: true,
    defaultMeaning: 'a random key, shown once at the first start',
  }),
  adminKey: optionalSetting({
    pattern: keyPattern,
    meaning: 'serve: the key that opens /v1/admin; quarry keys: the key it sends',
    allowed: keyAllowed,
    secret: true,
    defaultMeaning: 'none: administration is closed',
  }),
  adminPasswordHash: optionalSetting({
    pattern: passwordHashPattern,
    meaning: 'Hash of the password with which the administrator signs in at /api/admin/login',
    allowed: 'what `quarry hash-password` prints',
    secret: true,
    defaultMeaning: 'none: the administrator cannot sign in',
  }),
  signUp: enumSetting(['open', 'invited'], 'open', {
    meaning: 'Who may sign in for the first time: everybody with an address, or only who is invited',
  }),
  ownedOrganisationsMax: integerSetting(0, 10_000, 10, {
    meaning: 'Organizations that one person may own; with 0 only the administrator creates them',
    unit: 'organizations',
  }),
  auditDays: integerSetting(0, 36_500, 365, {
    meaning: 'How long the audit log keeps an entry; 0 keeps all of them',
    unit: 'days',
  }),
  mailUrl: optionalSetting({
    pattern: /^(smtps?:\/\/[^\s/]+\/?|file:\/\/\/[^\s]+|console:)$/,
    meaning: 'How sign-in links and invitations are mailed',
    allowed:
      'smtp://user:password@host:587, smtps://user:password@host:465, file:///a/folder for .eml files, or console: to print them',
    secret: true,
    defaultMeaning: 'none: no mail is sent',
  }),
  mailFrom: textSetting('quarry@localhost', {
    pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
    meaning: 'Address that mail comes from',
    allowed: 'a plain address',
  }),
  googleClientId: optionalSetting({
    meaning: 'Client id of this server at the issuer of OpenID Connect, for /api/auth/google',
    defaultMeaning: 'none: no sign-in there',
  }),
  googleClientSecret: optionalSetting({
    meaning: 'Secret of googleClientId',
    secret: true,
    defaultMeaning: 'none',
  }),
  oidcIssuer: textSetting('https://accounts.google.com', {
    pattern: issuerUrlPattern,
    meaning: 'The issuer of OpenID Connect behind /api/auth/google',
    allowed: issuerUrlAllowed,
  }),
  githubClientId: optionalSetting({
    meaning: 'Client id of this server at GitHub, for /api/auth/github',
    defaultMeaning: 'none: no sign-in there',
  }),
  githubClientSecret: optionalSetting({
    meaning: 'Secret of githubClientId',
    secret: true,
    defaultMeaning: 'none',
  }),
  githubBaseUrl: textSetting('https://github.com', {
    pattern: issuerUrlPattern,
    meaning: 'GitHub, or a GitHub Enterprise server',
    allowed: issuerUrlAllowed,
  }),
  egress: enumSetting(['configured', 'none'], 'configured', {
    meaning: 'Outgoing connections: to hosts that other settings name only, or none at all',
  }),
  egressHosts: optionalSetting({
    pattern:
      /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?(,(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?)*$/,
    meaning: 'Further hosts that may be connected to, such as endpoints of an identity provider',
    allowed: 'host or host:port, several with commas between',
    defaultMeaning: 'none',
  }),
  drainSeconds: secondsSetting(0, 3_600, 30, {
    meaning: 'On SIGTERM, how long requests that are under way may still take',
  }),
  logLevel: enumSetting(logLevels, 'info', { meaning: 'Least important event that is logged' }),

  // disk and memory
  data: textSetting('./data', { meaning: 'Folder of all data; relative to the folder Quarry is started in' }),
  uploadBytesMax: bytesSetting(1_000, 100 * gigabyte, 200 * megabyte, {
    meaning: 'Largest raw file of one document',
  }),
  bodyBytesMax: bytesSetting(100_000, 500 * megabyte, 270 * megabyte, {
    meaning: 'Largest JSON body; base64 makes a file a third larger',
  }),
  queueDocumentsMax: integerSetting(1, 100_000_000, 200_000, {
    meaning: 'Documents that may wait for parsing and indexing before adds are answered 429',
    unit: 'documents',
  }),
  memoryBytesMax: integerSetting(256 * megabyte, 100_000 * gigabyte, null, {
    meaning: 'Memory of the process, without what it maps from files, above which adds are answered 429',
    unit: 'bytes',
    defaultMeaning: '80 % of the memory this machine or container has',
  }),
  queryCacheBytes: bytesSetting(0, 100_000 * gigabyte, 128 * megabyte, {
    meaning: 'Memory for texts that queries ask for again and again; 0 keeps none',
  }),
  queryVectorCacheBytes: bytesSetting(0, 100_000 * gigabyte, 16 * megabyte, {
    meaning: 'Memory for the vectors of recent queries by models of your own; 0 keeps none',
  }),
  queriesRunningMax: integerSetting(1, 4_096, 128, {
    meaning: 'Queries without a reranker that run at one time; the others wait, and organizations take turns',
    unit: 'queries',
  }),
  rerankedQueriesRunningMax: integerSetting(1, 4_096, null, {
    meaning: 'The same of queries with a reranker that runs in this server',
    unit: 'queries',
    defaultMeaning: 'one more than QUARRY_RERANK_THREADS',
  }),
  diskReserveBytes: bytesSetting(0, 100_000 * gigabyte, gigabyte, {
    meaning: 'Free disk space below which writes are answered 429',
  }),
  pageCacheBytes: bytesSetting(0, 100_000 * gigabyte, gigabyte, {
    meaning: 'Disk space for page images and for what LibreOffice made of files; the least used go first',
  }),
  snapshotSeconds: secondsSetting(5, 86_400, 300, {
    meaning:
      'Time between snapshots of the search shards; a shorter one makes the start after a crash faster',
  }),

  // worker pools, search and OCR
  parseThreads: threadsSetting('parse files, each with its own parser process', 'half the cores, 1 to 8'),
  chunkThreads: threadsSetting('cut, analyse and embed documents', 'half the cores, 1 to 16'),
  embedThreads: threadsSetting(
    'embed long queries and what the embed operation is given',
    'half the cores, 1 to 16',
  ),
  rerankThreads: threadsSetting('run the reranking model', 'a quarter of the cores, 1 to 8'),
  searchThreads: threadsSetting('search the shards', 'the number of cores, at most 64'),
  engineKernels: enumSetting(['auto', 'avx512', 'avx2', 'neon', 'scalar'], 'auto', {
    meaning: 'Instructions that searches compute with; auto takes the fastest that this processor has',
  }),
  searchRecall: integerSetting(500, 999, 990, {
    unit: 'per mille',
    meaning: 'Share of the nearest snippets that a search by vector should find; more is slower',
  }),
  parseSecondsMax: secondsSetting(1, 86_400, 600, {
    meaning: 'Longest time parsing of one document may take',
  }),
  parseStallSeconds: secondsSetting(1, 86_400, 20, {
    meaning: 'Longest time parsing of one document may go without a new page',
  }),
  ocrEngine: enumSetting(['auto', 'tesseract', 'embedded', 'off'], 'auto', {
    meaning:
      'What reads text in images: the installed tesseract, the embedded engine, the first of them that has the languages, or nothing',
  }),
  ocrLanguages: textSetting('eng', {
    pattern: /^[A-Za-z][A-Za-z0-9_/-]*(\+[A-Za-z][A-Za-z0-9_/-]*)*$/,
    meaning: 'Languages of text in images; the start fails when one is not installed',
    allowed: "names of Tesseract's language data with + between, such as eng+deu",
  }),
  ocrDataFolder: optionalSetting({
    meaning:
      'Folder of Tesseract language data for the embedded engine, besides that of installed npm packages',
    allowed: 'a folder with files such as deu.traineddata or deu.traineddata.gz',
    defaultMeaning: 'none',
  }),
  ocrPagesMax: integerSetting(0, 5_000, 200, {
    meaning: 'Pages of one document whose text is read from their image',
    unit: 'pages',
  }),
  ocrPageSecondsMax: secondsSetting(1, 3_600, 60, { meaning: 'Longest time for the text of one such page' }),
  ocrSecondsMax: secondsSetting(1, 86_400, 480, {
    meaning:
      'Longest time for all such pages of a document, at most four fifths of parseSecondsMax; those that are done are kept',
  }),
  toolsIsolation: enumSetting(['required', 'preferred', 'off'], 'preferred', {
    meaning:
      'Isolation of LibreOffice, tesseract and the like, and of parser processes, from data and network: the strongest that the host allows; with required, programs do not run without full isolation',
  }),
  office: enumSetting(['auto', 'off'], 'auto', {
    meaning: 'Whether LibreOffice is used where it is installed',
  }),
  officeSecondsMax: secondsSetting(1, 3_600, 120, {
    meaning: 'Longest time LibreOffice may take for one file',
  }),

  // models
  reranker: optionalSetting({
    meaning: 'Reranker of queries that name none',
    allowed: 'zerank-2, zerank-1, zerank-1-small, or the name of a reranker of your own',
    defaultMeaning: 'none',
  }),
  embeddingModel: optionalSetting({
    meaning: 'Embedding model of new collections; with embeddingUrl the name its service knows it by',
    allowed: 'zembed-1, or the name of a model of your own',
    defaultMeaning: 'zembed-1, which is built in',
  }),
  embeddingUrl: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'Service that embeds instead of the built-in model, with the embeddings API of OpenAI',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'none',
  }),
  embeddingKey: optionalSetting({
    meaning: 'Key that is sent to embeddingUrl as a bearer token',
    secret: true,
    defaultMeaning: 'none',
  }),
  embeddingDimensions: integerSetting(0, 8_192, 0, {
    meaning: 'How many of the first components of its vectors are used; 0 uses all',
  }),
  embeddingQueryPrefix: optionalSetting({
    meaning: 'What is put before every query that is embedded',
    defaultMeaning: 'nothing',
  }),
  embeddingDocumentPrefix: optionalSetting({
    meaning: 'What is put before every text of a document that is embedded',
    defaultMeaning: 'nothing',
  }),
  embeddingInputType: enumSetting(['none', 'voyage', 'cohere', 'jina'], 'none', {
    meaning: 'Whose field tells the service whether a text is a query or a document',
  }),
  embeddingEncoding: enumSetting(['float', 'base64'], 'float', {
    meaning: 'How vectors are asked for; base64 is a quarter of the size where the service knows it',
  }),
  rerankUrl: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'Service that reranks, with the rerank API of Cohere, Jina or TEI',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'none',
  }),
  rerankModel: optionalSetting({
    meaning: 'Name of the reranker at rerankUrl, for its service and for queries',
    defaultMeaning: 'none',
  }),
  rerankKey: optionalSetting({
    meaning: 'Key that is sent to rerankUrl as a bearer token',
    secret: true,
    defaultMeaning: 'none',
  }),
  rerankDialect: enumSetting(['cohere', 'tei'], 'cohere', {
    meaning: 'Fields of its requests and replies: those of Cohere and Jina, or those of TEI',
  }),
  rerankScores: enumSetting(['probability', 'logit'], 'probability', {
    meaning: 'What its scores are: numbers from 0 to 1, or log-odds',
  }),
  modelAliases: optionalSetting({
    pattern: /^[^\s,=]+=[^\s,=]+(,[^\s,=]+=[^\s,=]+)*$/,
    meaning: 'Further names of models, so that clients need not change',
    allowed: 'pairs such as zembed-1=my-model,zerank-2=my-reranker',
    defaultMeaning: 'none',
  }),
  typoTolerance: enumSetting(['on', 'off'], 'on', {
    meaning:
      'Whether words of a query that no document has are looked for in spellings that differ by a letter or two',
  }),
  withoutModel: enumSetting(['degrade', 'refuse'], 'degrade', {
    meaning: 'Queries whose model does not answer: do without it and say so, or are answered 503',
  }),
  modelThreads: integerSetting(1, 256, 1, {
    meaning:
      'Threads of one run of an added model, beside the threads of the pools that run several at a time',
    unit: 'threads',
  }),
  modelBatchTokens: integerSetting(128, 1_000_000, 2_048, {
    meaning: 'Tokens that an added model reads in one run, padding included, unless a single text is longer',
  }),
  modelExecutionProviders: textSetting('cpu', {
    pattern: /^[a-z]+(,[a-z]+)*$/,
    meaning: 'Execution providers of onnxruntime for added models, the preferred one first',
    allowed: 'names with commas between, such as cuda,cpu or coreml,cpu',
  }),
  providerSecondsMax: secondsSetting(1, 600, 30, {
    meaning: 'Longest time one request to a model service may take',
  }),
  providerQueryMsMax: integerSetting(50, 50_000, 3_000, {
    meaning: 'Longest time a query waits for a model service, all attempts together',
    unit: 'milliseconds',
  }),
  providerRequestsMax: integerSetting(1, 256, 4, {
    meaning: 'Requests to one model service at the same time; of several, one is kept for queries',
  }),
  providerTextsMax: integerSetting(1, 2_048, 32, { meaning: 'Texts in one request to a model service' }),
  providerCharactersMax: integerSetting(1_000, 10_000_000, 64_000, {
    meaning: 'Characters in one request to a model service, unless a single text is longer',
  }),
  providerTextCharactersMax: integerSetting(100, 1_000_000, 16_000, {
    meaning: 'What of one text is sent to a model service; the rest of a longer one is left out',
  }),

  // tiers
  freeBytesPerMinuteFast: perMinuteLimit(500_000, 'bytes/minute', 'Tier free: fast model calls'),
  freeBytesPerMinuteSlow: perMinuteLimit(5_000_000, 'bytes/minute', 'Tier free: slow model calls'),
  freeRerankRequestsPerMinute: perMinuteLimit(1_000, 'requests/minute', 'Tier free: rerank requests'),
  freeRequestsPerMinute: optionalLimit('requests/minute', 'Tier free: requests of any kind'),
  freeQueriesPerMinute: optionalLimit('queries/minute', 'Tier free: queries'),
  freeDocumentBytesPerMinute: optionalLimit('bytes/minute', 'Tier free: raw bytes of documents that come in'),
  freeDocumentsMax: optionalLimit('documents', 'Tier free: documents that are stored', 10_000),
  freeStorageBytesMax: optionalLimit('bytes', 'Tier free: raw bytes of stored documents', gigabyte),
  freeIngestDocumentsMax: optionalLimit(
    'documents',
    'Tier free: documents that wait for parsing and indexing at one time',
  ),
  starterBytesPerMinuteFast: perMinuteLimit(2_500_000, 'bytes/minute', 'Tier starter: fast model calls'),
  starterBytesPerMinuteSlow: perMinuteLimit(20_000_000, 'bytes/minute', 'Tier starter: slow model calls'),
  starterRerankRequestsPerMinute: perMinuteLimit(5_000, 'requests/minute', 'Tier starter: rerank requests'),
  starterRequestsPerMinute: optionalLimit('requests/minute', 'Tier starter: requests of any kind'),
  starterQueriesPerMinute: optionalLimit('queries/minute', 'Tier starter: queries'),
  starterDocumentBytesPerMinute: optionalLimit(
    'bytes/minute',
    'Tier starter: raw bytes of documents that come in',
  ),
  starterDocumentsMax: optionalLimit('documents', 'Tier starter: documents that are stored'),
  starterStorageBytesMax: optionalLimit('bytes', 'Tier starter: raw bytes of stored documents'),
  starterIngestDocumentsMax: optionalLimit(
    'documents',
    'Tier starter: documents that wait for parsing and indexing at one time',
  ),
  teamsBytesPerMinuteFast: perMinuteLimit(10_000_000, 'bytes/minute', 'Tier teams: fast model calls'),
  teamsBytesPerMinuteSlow: perMinuteLimit(100_000_000, 'bytes/minute', 'Tier teams: slow model calls'),
  teamsRerankRequestsPerMinute: perMinuteLimit(20_000, 'requests/minute', 'Tier teams: rerank requests'),
  teamsRequestsPerMinute: optionalLimit('requests/minute', 'Tier teams: requests of any kind'),
  teamsQueriesPerMinute: optionalLimit('queries/minute', 'Tier teams: queries'),
  teamsDocumentBytesPerMinute: optionalLimit(
    'bytes/minute',
    'Tier teams: raw bytes of documents that come in',
  ),
  teamsDocumentsMax: optionalLimit('documents', 'Tier teams: documents that are stored'),
  teamsStorageBytesMax: optionalLimit('bytes', 'Tier teams: raw bytes of stored documents'),
  teamsIngestDocumentsMax: optionalLimit(
    'documents',
    'Tier teams: documents that wait for parsing and indexing at one time',
  ),

  // payments
  stripeSecretKey: optionalSetting({
    pattern: /^[rs]k_(test|live)_[\x21-\x7e]{8,500}$/,
    meaning: 'Secret or restricted key of the Stripe account that takes payments',
    allowed: 'a key that begins with sk_test_, sk_live_, rk_test_ or rk_live_',
    secret: true,
    defaultMeaning: 'none: nobody pays, and administrators choose tiers',
  }),
  stripeWebhookSecret: optionalSetting({
    pattern: /^[\x21-\x7e]{8,512}$/,
    meaning: 'Signing secret of the webhook at /api/billing/webhook',
    allowed: 'what `quarry billing setup` prints, such as whsec_...',
    secret: true,
    defaultMeaning: 'none: events are not taken, and changes are seen when somebody asks, or within the hour',
  }),
  stripeApiBase: textSetting('https://api.stripe.com', {
    pattern: /^https?:\/\/[^\s?#@/]+\/?$/,
    meaning: 'Where Stripe answers; tests point it at an emulator',
    allowed: 'an http:// or https:// address without path; a live key only with https://',
  }),
  stripeSecondsMax: secondsSetting(1, 60, 10, {
    meaning: 'Longest time one call to Stripe may take, each attempt',
  }),
  stripeAnswerSecondsMax: secondsSetting(1, 50, 25, {
    meaning: 'Longest time that billing keeps a caller waiting; a change goes on after that',
  }),
  plansFile: optionalSetting({
    meaning: 'JSON file with prices and limits of the tiers',
    allowed: 'a file as docs/guides/payments.md describes it',
    defaultMeaning: 'none: the prices in docs/guides/payments.md, and the limits of the settings above',
  }),

  // marketplaces
  awsMarketplace: booleanSetting(false, {
    meaning: 'Take people who buy at AWS Marketplace, at /api/marketplaces/aws',
  }),
  awsRegion: textSetting('us-east-1', {
    pattern: /^[a-z]{2}(-[a-z]+)+-\d$/,
    meaning: 'Region of the metering service of AWS Marketplace',
    allowed: 'a region such as us-east-1',
  }),
  awsEndpoint: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'Address of the services of AWS Marketplace instead of their own',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'where AWS has them',
  }),
  awsAccessKeyId: optionalSetting({
    meaning: 'Access key of the seller at AWS',
    defaultMeaning: 'where the SDK of AWS finds one, such as the role of the machine',
  }),
  awsSecretAccessKey: optionalSetting({
    meaning: 'Secret of awsAccessKeyId',
    secret: true,
    defaultMeaning: 'the same',
  }),
  awsProductCodes: optionalSetting({
    pattern: /^[^\s,]+(,[^\s,]+)*$/,
    meaning: 'Products of the seller that this server is',
    allowed: 'product codes with commas between',
    defaultMeaning: 'all of them',
  }),
  awsTier: enumSetting(['starter', 'teams', 'enterprise'], 'teams', {
    meaning: 'Tier of whoever bought a product without contract dimensions',
  }),
  awsTiers: optionalSetting({
    pattern: /^[^\s,=]+=(starter|teams|enterprise)(,[^\s,=]+=(starter|teams|enterprise))*$/,
    meaning: 'Tiers by contract dimension, which AWS is asked for',
    allowed: 'pairs such as small=starter,large=teams',
    defaultMeaning: 'none: awsTier for everybody',
  }),
  awsDimensions: optionalSetting({
    pattern: meteredPairsPattern,
    meaning: 'Metered dimensions: what is counted, by how many, and what bills it',
    allowed:
      'pairs such as queries/1000=queries_1k,embed_tokens/1000000=embed_1m; of documents, pages, queries, embed_tokens, rerank_tokens',
    defaultMeaning: 'none: nothing is metered',
  }),
  awsTopicArns: optionalSetting({
    pattern: topicListPattern,
    meaning: 'SNS topics whose messages are believed, at /api/marketplaces/aws/events',
    allowed: 'arn:aws:sns:us-east-1:123456789012:name, several with commas between',
    defaultMeaning: 'none: messages are answered 503',
  }),
  awsSnsUrl: optionalSetting({
    pattern: /^https?:\/\/[^\s/?#@]+$/,
    meaning: 'Where certificates and confirmations of SNS are instead of at SNS',
    allowed: 'an origin such as https://sns.us-east-1.amazonaws.com',
    defaultMeaning: 'SNS in the region of the topic',
  }),
  vercelClientId: optionalSetting({
    meaning: 'Client id of the integration at Vercel, for /api/marketplaces/vercel',
    defaultMeaning: 'none: nobody comes from there',
  }),
  vercelClientSecret: optionalSetting({
    meaning: 'Secret of vercelClientId, which also signs webhooks',
    secret: true,
    defaultMeaning: 'none',
  }),
  vercelApiUrl: textSetting('https://api.vercel.com', {
    pattern: issuerUrlPattern,
    meaning: 'The API of Vercel',
    allowed: issuerUrlAllowed,
  }),
  vercelNextHosts: textSetting('vercel.com', {
    pattern: /^[a-z0-9.-]+(,[a-z0-9.-]+)*$/,
    meaning: 'Hosts that Vercel may want the browser back at',
    allowed: 'host names with commas between',
  }),
  vercelTier: enumSetting(['none', 'starter', 'teams', 'enterprise'], 'none', {
    meaning: 'Tier that an installation at Vercel entitles to',
  }),

  // command-line client
  url: textSetting('http://127.0.0.1:8720', {
    pattern: /^https?:\/\/[^\s?#]+$/,
    meaning: 'Server that the commands talk to',
    allowed: 'an http:// or https:// address without query or fragment',
  }),
  organization: optionalSetting({
    pattern: uuidPattern,
    meaning:
      'Organization that `quarry keys`, `audit` and `doctor` concern, and other commands whose key is a session',
    allowed: 'a UUID',
    defaultMeaning: 'none: the server prints the id of its first organization when it starts',
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
