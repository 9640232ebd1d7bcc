import { assert } from './assert.ts';

/**
 * All bounds of the system that are not settings, by area. Names end with the unit; `Max` bounds are
 * inclusive.
 */
export const limits = {
  // names
  collectionNameBytesMax: 1_024,
  pathBytesMax: 4_096,
  metadataBytesMax: 65_535,
  metadataBytesRaisedMax: 131_072,
  metadataNameBytesMax: 256,
  metadataSchemaFieldsMax: 256,
  facetsMax: 16,
  facetValuesDefault: 10,
  facetValuesMax: 100,
  facetRangesMax: 100,
  expiredVersionsMax: 10_000,
  aliasesPerOrganizationMax: 1_000,
  aliasChangesMax: 64,
  /** Bounds of one call that copies documents of a collection. */
  cloneDocumentsMax: 4_096,
  cloneMsMax: 20_000,

  // requests
  deletePathsMax: 64,
  batchDocumentsMax: 256,
  listDocumentsMax: 1_024,
  listExtensionsMax: 64,
  listExtensionBytesMax: 64,
  textRangeCharactersMax: 100_000,
  textRangeCharactersDefault: 20_000,
  queryCodePointsMax: 4_096,
  queryOperatorsMax: 64,
  topSnippetsMax: 128,
  topDocumentsMax: 2_048,
  topPagesMax: 1_024,
  filterDepthMax: 64,
  filterNodesMax: 4_096,
  filterValuesMax: 16_384,
  jsonDepthMax: 512,
  validationIssuesMax: 16,
  apiKeyNameBytesMax: 256,
  unixSecondsMax: 253_402_300_799,

  // MCP
  mcpBodyBytesMax: 131_072,
  mcpReplyTokensMin: 100,
  mcpReplyTokensDefault: 8_000,
  mcpReplyTokensMax: 25_000,
  mcpResultsMax: 50,
  mcpDocumentsMax: 200,

  // HTTP server
  headerBytesMax: 131_072,
  keepAliveMsMax: 72_000,
  headerMsMax: 15_000,
  bodyIdleMsMax: 8_000,
  replyIdleMsMax: 30_000,
  lingerMsMax: 2_000,
  pipelinedRequestsMax: 8,
  requestsRunningMax: 4_096,
  queriesWaitingMax: 256,
  /**
   * Maximum number of running queries that an external service reranks: these wait for the service rather
   * than compute.
   */
  serviceRerankedQueriesMax: 16,
  filesWaitingMax: 256,
  pageImagesWaitingMax: 64,
  pageImageFailuresMax: 10_000,
  pageImageFailureMs: 300_000,
  waitsRunningMax: 1_024,
  /**
   * Maximum bytes of a request body queued for its reader: for an upload, whose bytes are written to disk
   * meanwhile, and for any other body.
   */
  bodyQueueBytesMax: 1_048_576,
  shortBodyQueueBytesMax: 65_536,
  chunkBuffersFreeMax: 16,
  /** Receive buffer of a connection; equals the default maximum of Linux. */
  receiveBufferBytes: 212_992,
  /** Traces: spans that wait for export, spans per request to the collector, spans per trace. */
  spansQueuedMax: 8_192,
  spansPerExportMax: 512,
  spansPerTraceMax: 64,
  tracesRequestedPerSecondMax: 100,
  spanExportMs: 5_000,
  spanExportMsMax: 10_000,
  spanCloseMsMax: 2_000,
  /** Lines of the slow-query log per second, and UTF-16 code units of a query in one. */
  slowQueryLinesPerSecondMax: 10,
  slowQueryTextUnitsMax: 500,
  certificateCheckMs: 10_000,
  /** Maximum number of replaced certificates whose connections continue. */
  replacedCertificatesMax: 8,
  /** Rate at which the rest of a rejected body is read. */
  discardBytesPerMsMax: 5_000,
  discardedBodyBytesMax: 1_048_576,
  bufferedReplyBytesMax: 65_536,
  fileChunkBytes: 262_144,
  /** Maximum number of values in one JSON text; a vector is a list of numbers. */
  jsonValuesMax: 4_000_000,
  /** Maximum number of objects, lists and strings in it: 50,000 pages, or 256 documents with long metadata. */
  jsonNodesMax: 262_144,
  smallJsonValuesMax: 65_536,
  jsonUncheckedBytesMax: 512,
  /** Memory of a parsed object, list or string beyond its text, and of any other value. */
  jsonNodeBytes: 64,
  jsonNumberBytes: 16,
  queryBodyBytesMax: 2_097_152,
  modelBodyBytesMax: 6_000_000,
  keyBodyBytesMax: 524_288,
  /**
   * Minimum rate of an incoming body, averaged over a window of waiting time, once the body has at least
   * `bodyRateBytesMin` bytes.
   */
  bodyBytesPerSecondMin: 16_384,
  bodyRateWindowMs: 5_000,
  bodyRateBytesMin: 65_536,
  jsonMembersMax: 65_536,
  /** Bodies of at least this size are parsed by a worker: parsing takes about a millisecond. */
  largeBodyBytesMin: 131_072,
  largeBodiesWaitingMax: 256,
  uploadMsMax: 3_600_000,
  uploadsRunningMax: 256,
  uploadBytesPerSecondMin: 1_024,
  uploadRateWindowMs: 15_000,
  uploadRecheckMs: 1_000,
  multipartFieldBytesMax: 131_072,
  multipartFieldsMax: 16,
  modelBytesMax: 5_000_000,
  /** Milliseconds of work per turn of the event loop for calls with a waiting client. */
  requestSliceMsMax: 5,
  waitMsMax: 50_000,
  requestMsMax: 55_000,

  // model charging
  chargedBytesPerText: 150,
  bucketRefillMs: 15_000,
  bucketRefillsPerMinute: 4,
  bucketWriteMs: 1_000,
  slowWaitMsMax: 40_000,
  slowCallsRunningMax: 4,
  fastCallsRunningMax: 32,
  fastCallsWaitingMax: 1_024,
  slowWaitingBytesMax: 64 * 1024 * 1024,
  /** Floats of one embed reply: 2,048 texts at full length. */
  embedNumbersMax: 2_048 * 2_560,
  modelBatchTextsMax: 1_024,
  modelBatchUnitsMax: 1_000_000,
  providerReplyBytesMax: 64 * 1_048_576,
  cohereSearchUnitDocuments: 100,
  rankFieldsMax: 64,
  vectorStoreResultsMax: 50,

  // keys
  keyNameBytesMax: 256,
  apiKeysPerOrganizationMax: 1_000,
  keyCacheEntriesMax: 10_000,
  keyCacheMs: 1_000,
  keyUseMs: 60_000,
  keyCollectionsMax: 256,
  keyFilterBytesMax: 16_384,
  keyOriginsMax: 64,

  // accounts
  profileTextUnitsMax: 255,
  avatarUrlUnitsMax: 2_048,
  userAgentUnitsMax: 256,
  cookieBytesMax: 8_192,
  sessionIdleMsMax: 7 * 86_400_000,
  sessionMsMax: 30 * 86_400_000,
  adminSessionMsMax: 8 * 3_600_000,
  sessionTouchMs: 60_000,
  magicLinkMsMax: 10 * 60_000,
  loginLinkMsMax: 15 * 60_000,
  signInFlowMsMax: 10 * 60_000,
  identityProviderMsMax: 10_000,
  invitationMsMax: 7 * 86_400_000,
  organizationsPageMax: 1_000,
  userSearchUnitsMax: 320,
  /** Maximum number of users scanned per search request; the next reply continues. */
  usersSearchedMax: 5_000,
  idempotencyKeyMsMax: 86_400_000,
  idempotencyKeysPerUserMax: 1_000,
  memberApiKeysMax: 100,
  sessionsPerUserMax: 100,
  passwordsWaitingMax: 8,
  passwordLinkMsMax: 24 * 3_600_000,
  secondFactorMsMax: 10 * 60_000,
  accountBodyBytesMax: 65_536,
  redirectUnitsMax: 2_048,
  /** Stored in the cookies of a sign-in: the total size of our cookies must stay below `cookieBytesMax`. */
  signInPathUnitsMax: 1_024,
  /** Maximum length of the value of a sealed cookie. */
  sealedCookieUnitsMax: 3_000,
  /** Bound given by OpenID Connect. */
  providerSubjectUnitsMax: 255,
  rateLimitKeysMax: 100_000,
  /** Sign-in emails to one address: this many in a burst, then one per `signInMailRefillMs`. */
  signInMailBurstMax: 5,
  signInMailRefillMs: 5 * 60_000,
  /** Minimum time between two sign-in emails that one client causes to one address. */
  signInMailIntervalMsMin: 60_000,
  mailsWaitingMax: 1_000,
  /** Maximum number of emails being sent: in total, and per organization or per recipient domain. */
  mailsRunningMax: 8,
  mailsRunningPerKeyMax: 2,
  mailMsMax: 30_000,
  mailAttemptMsMax: 60_000,
  mailCloseMsMax: 5_000,
  auditPageMax: 1_000,
  logTailBytesMax: 1_048_576,
  logPageMax: 1_000,
  auditSweepMs: 3_600_000,
  deniedAuditEntriesPerMinuteMax: 600,
  accountSweepMs: 3_600_000,

  // marketplaces
  marketplaceSignUpMsMax: 3_600_000,
  marketplaceCallMsMax: 10_000,
  marketplaceReplyBytesMax: 262_144,
  marketplaceBatchMax: 25,
  marketplaceHoursReadMax: 1_000,
  /**
   * AWS accepts usage of less than 24 hours ago, counted from the beginning of its hour. One hour less, to
   * allow for transmission.
   */
  marketplaceHoursMax: 22,
  /**
   * AWS accepts usage of the previous month only during the first six hours of a month. One hour less, to
   * allow for transmission.
   */
  marketplaceGraceHoursMax: 5,
  /** Delay after an hour until its usage is complete: the meter writes every few seconds. */
  marketplaceSettleMs: 120_000,
  marketplaceReportMs: 300_000,
  marketplaceRetryMs: 60_000,
  marketplaceTextUnitsMax: 4_096,
  vercelProjectsMax: 200,
  vercelPageMax: 20,
  vercelPageBytesMax: 8_388_608,

  // usage
  usageFlushMs: 5_000,
  usagePendingMax: 20_000,
  usageBatchMax: 1_000,
  usageRowsMax: 50_000,

  // billing
  /** Maximum size of a message of SNS or Stripe: 256 KiB. */
  webhookBytesMax: 262_144,
  webhookAgeSecondsMax: 300,
  billingReadMs: 1_000,
  /** How long a Stripe form that was opened may change payment methods or billing details. */
  billingFormMs: 3_600_000,
  billingReadWaitMsMax: 8_000,
  billingCallMsMax: 10 * 60_000,
  billingPreviewMsMax: 3_600_000,
  /** Stripe forgets idempotency keys after a day. */
  billingCustomerCallMsMax: 23 * 3_600_000,
  billingEventMsMax: 30 * 86_400_000,
  billingEventsPerCatchUpMax: 10_000,
  billingCatchUpMs: 3_600_000,
  billingRetryMs: 15_000,
  billingRetryMsMax: 10 * 60_000,
  billingDueBatchMax: 1_000,
  /** How long the customer of a deleted organization is kept for an unpaid invoice. */
  deletedCustomerMsMax: 30 * 86_400_000,
  billingListMax: 24,
  billingCatalogMs: 60_000,
  plansFileBytesMax: 1_048_576,
  usageReportMs: 20_000,
  usageReportsRunningMax: 8,
  /** Maximum delay before a minute of usage is written. */
  usageWriteDelayMsMax: 15_000,
  /** Maximum age of usage that Stripe accepts. */
  usageReportMsMax: 34 * 86_400_000,
  /** Stripe remembers the identifiers of meter events for at least a day. */
  meterIdentifierMsMax: 23 * 3_600_000,
  grantGraceMs: 3 * 86_400_000,
  balanceTransactionsMax: 1_000,
  invoiceLinesMax: 1_000,
  billingReadsRunningMax: 4,

  // documents
  documentPagesMax: 5_000,
  documentTextUnitsMax: 50_000_000,
  pageTextUnitsMax: 2_000_000,
  /** As many as a parsed table has at most, so that the pages of any parsed file can be added as a text. */
  textPagesMax: 50_000,
  /** Details of a file whose text is supplied. */
  parsedTitleUnitsMax: 300,
  parsedWarningsMax: 64,
  parsedWarningUnitsMax: 1_024,
  /** As much text as a compressed file can contain: deflate saves at most a factor of 1,000. */
  parsedTextBytesPerFileByteMax: 1_000,
  ttlSecondsMax: 100 * 365 * 86_400,
  /** Expired documents deleted at a time. */
  expirationBatchMax: 256,
  exportDocumentsMax: 256,
  /** Size of a reply of `export-documents` after which no further document is added to it. */
  exportBytesTarget: 8 * 1_048_576,

  // vectors supplied by callers
  ownVectorDimensionsMax: 8_192,
  /** Maximum bytes of the vectors of one document's chunks and of their parts. */
  ownVectorBytesMax: 128 * 1_048_576,

  // chunks, in UTF-16 code units
  coarseChunkUnitsMin: 1_000,
  coarseChunkUnitsTarget: 2_000,
  coarseChunkUnitsMax: 3_000,
  fineChunkUnitsMin: 80,
  fineChunkUnitsTarget: 200,
  fineChunkUnitsMax: 360,
  chunkPrefixUnitsMax: 200,
  headingUnitsMax: 200,
  titleLikeUnitsMax: 90,

  // ingest
  /** Milliseconds of background work per turn of the event loop. */
  backgroundSliceMsMax: 1,
  /** Milliseconds per turn of the event loop for scanning large request bodies. */
  bodyScanSliceMsMax: 0.4,
  /**
   * Maximum number of documents that are chunked, embedded and indexed concurrently; the engine stages twice
   * as many.
   */
  indexingDocumentsMax: 512,
  /**
   * Maximum memory of these documents together, and memory per byte of text: rows, words, codes and the text
   * itself.
   */
  indexingBytesMax: 384 * 1_048_576,
  indexingBytesPerTextByte: 6,
  /** A document with at most this much text and this many pages needs few writes. */
  smallTextBytesMax: 65_536,
  smallTextPagesMax: 64,
  /** A batch of small documents that are indexed together is complete with this much text or this many documents. */
  indexBatchBytesMax: 262_144,
  indexBatchDocumentsMax: 16,
  /** Maximum text and number of documents sent to a chunk worker in one batch. */
  chunkBatchUnitsMax: 131_072,
  chunkBatchDocumentsMax: 32,

  // lexical analysis
  termUnitsMax: 128,
  compoundRunsMax: 8,
  stemUnitsMax: 40,
  segmenterUnitsMax: 1_000,
  wordCacheEntriesMax: 65_536,
  queryCacheEntriesMax: 65_536,
  analyzedRowUnitsMax: 200_000,
  languageSampleRowsMax: 24,
  queryGroupsMax: 512,
  /** Maximum number of query words checked for another spelling, and maximum length of such a word. */
  misspelledWordsMax: 8,
  misspelledUnitsMax: 24,

  // store
  storePendingBytesMax: 128 * 1_048_576,
  storeGroupBytesMax: 16 * 1_048_576,
  storeRangeChunk: 256,
  storeRangeChunkBytes: 1_048_576,
  sweepOperationsMax: 2_000,
  sweepConcurrencyMax: 32,
  /** Hashes of files remembered while their deletion is deferred; the next start deletes all others. */
  blobDeletionsDeferredMax: 100_000,
  garbageDelayMs: 60_000,
  organizationGraceMs: 3_000,
  freeSpaceCheckMs: 2_000,
  storeReopenMs: 1_000,
  storeReopenBytes: 8 * 1_048_576,
  storeCacheBytes: 96 * 1_048_576,
  cachedRecordsMax: 4_096,
} as const;

/** Shard counts that a collection may have; chosen at creation. */
export const shardCounts = [1, 8, 16, 32, 64] as const;

assert(limits.waitMsMax < limits.requestMsMax, 'a call with wait returns before the request deadline');
assert(limits.requestMsMax < 60_000, 'every call returns within the 60 s timeout of the official clients');
assert(limits.fineChunkUnitsMax < limits.coarseChunkUnitsMin, 'fine chunks fit inside coarse chunks');
assert(
  2 * limits.signInMailRefillMs <= limits.magicLinkMsMax,
  'the newest link in a mailbox is valid, regardless of the number of requests',
);
assert(limits.pageTextUnitsMax <= limits.documentTextUnitsMax, 'one page fits into a document');
assert(limits.metadataBytesMax < limits.metadataBytesRaisedMax, 'the metadata limit can be raised');
assert(
  limits.metadataBytesRaisedMax <= limits.multipartFieldBytesMax,
  'metadata at the raised limit fits into a form field',
);
assert(
  limits.bodyIdleMsMax < 10_000,
  'a stalled body gets a reply before uWebSockets.js closes the connection after 10 s',
);
