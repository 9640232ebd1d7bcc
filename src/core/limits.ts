import { assert } from './assert.ts';

/** Every bound of the system that is not a setting, by room. Units are in the names; `Max` bounds are inclusive. */
export const limits = {
  // names
  collectionNameBytesMax: 1_024,
  pathBytesMax: 4_096,
  metadataBytesMax: 65_535,
  metadataBytesRaisedMax: 131_072,
  metadataNameBytesMax: 256,

  // requests
  deletePathsMax: 64,
  batchDocumentsMax: 256,
  listDocumentsMax: 1_024,
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

  // the door
  headerBytesMax: 131_072,
  keepAliveMsMax: 72_000,
  headerMsMax: 15_000,
  bodyIdleMsMax: 8_000,
  replyIdleMsMax: 30_000,
  lingerMsMax: 2_000,
  pipelinedRequestsMax: 8,
  requestsRunningMax: 4_096,
  queriesWaitingMax: 256,
  /** Queries that run at a time and are reranked by a service: they wait for it rather than compute. */
  serviceRerankedQueriesMax: 16,
  filesWaitingMax: 256,
  pageImagesWaitingMax: 64,
  pageImageFailuresMax: 10_000,
  pageImageFailureMs: 300_000,
  waitsRunningMax: 1_024,
  /** Of a body that waits for its reader: of an upload, whose bytes go to the disk meanwhile, and of any other. */
  bodyQueueBytesMax: 1_048_576,
  shortBodyQueueBytesMax: 65_536,
  chunkBuffersFreeMax: 16,
  /** Speed at which the rest of a refused body is read. */
  discardBytesPerMsMax: 5_000,
  discardedBodyBytesMax: 1_048_576,
  bufferedReplyBytesMax: 65_536,
  fileChunkBytes: 262_144,
  /** Of a document: a vector is a list of numbers. */
  jsonValuesMax: 4_000_000,
  /** Of its objects, lists and strings: a hundred thousand pages, or 256 documents with long metadata. */
  jsonNodesMax: 262_144,
  smallJsonValuesMax: 65_536,
  jsonUncheckedBytesMax: 512,
  /** Memory of a parsed object, list or string beyond its text, and of any other value. */
  jsonNodeBytes: 64,
  jsonNumberBytes: 16,
  queryBodyBytesMax: 2_097_152,
  modelBodyBytesMax: 6_000_000,
  keyBodyBytesMax: 524_288,
  /** A body must arrive at this speed, taken over so many milliseconds of waiting, once it holds so many bytes. */
  bodyBytesPerSecondMin: 16_384,
  bodyRateWindowMs: 5_000,
  bodyRateBytesMin: 65_536,
  jsonMembersMax: 65_536,
  /** From this size on a body is parsed by a worker: parsing it takes about a millisecond. */
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
  /** Of a turn of the event loop, for work of calls that somebody waits for. */
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

  // keys
  keyNameBytesMax: 256,
  apiKeysPerOrganizationMax: 1_000,
  keyCacheEntriesMax: 10_000,
  keyCacheMs: 1_000,
  keyUseMs: 60_000,
  keyCollectionsMax: 256,
  keyFilterBytesMax: 16_384,

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
  /** Of one search; the next reply continues. */
  usersSearchedMax: 5_000,
  idempotencyKeyMsMax: 86_400_000,
  idempotencyKeysPerUserMax: 1_000,
  memberApiKeysMax: 100,
  sessionsPerUserMax: 100,
  passwordsWaitingMax: 8,
  secondFactorMsMax: 10 * 60_000,
  oneTimeCodesPerHourMax: 50,
  accountBodyBytesMax: 65_536,
  redirectUnitsMax: 2_048,
  /** Kept in the cookies of a sign-in: the sum of ours has to stay below `cookieBytesMax`. */
  signInPathUnitsMax: 1_024,
  /** Of the value of a sealed cookie. */
  sealedCookieUnitsMax: 3_000,
  /** As OpenID Connect bounds it. */
  providerSubjectUnitsMax: 255,
  rateLimitKeysMax: 100_000,
  /** Sign-in mails to one address: so many at once, then one each `signInMailRefillMs`. */
  signInMailBurstMax: 5,
  signInMailRefillMs: 5 * 60_000,
  /** Between two sign-in mails that one client causes to one address. */
  signInMailIntervalMsMin: 60_000,
  mailsWaitingMax: 1_000,
  /** Sent at a time, and of those on the account of one organization or to one domain. */
  mailsRunningMax: 8,
  mailsRunningPerKeyMax: 2,
  mailMsMax: 30_000,
  mailAttemptMsMax: 60_000,
  mailCloseMsMax: 5_000,
  auditPageMax: 1_000,
  auditSweepMs: 3_600_000,
  deniedAuditEntriesPerMinuteMax: 600,
  accountSweepMs: 3_600_000,

  // marketplaces
  marketplaceSignUpMsMax: 3_600_000,
  marketplaceCallMsMax: 10_000,
  marketplaceReplyBytesMax: 262_144,
  marketplaceBatchMax: 25,
  marketplaceHoursReadMax: 1_000,
  /** AWS accepts usage of less than 24 hours ago, counted from the beginning of its hour; an hour less, for the way. */
  marketplaceHoursMax: 22,
  /** That of an earlier month only until six hours of the next one are over; an hour less, for the way. */
  marketplaceGraceHoursMax: 5,
  /** After an hour until its use is complete: the meter writes every few seconds. */
  marketplaceSettleMs: 120_000,
  marketplaceReportMs: 300_000,
  marketplaceRetryMs: 60_000,
  marketplaceTextUnitsMax: 4_096,
  /** Of one host: SNS sends again what it is refused for now, and so does Vercel. */
  marketplaceMessagesPerMinuteMax: 120,
  vercelProjectsMax: 200,
  vercelPageMax: 20,
  vercelPageBytesMax: 8_388_608,

  // usage
  usageFlushMs: 5_000,
  usagePendingMax: 20_000,
  usageBatchMax: 1_000,
  usageRowsMax: 50_000,
  usageSecondsMax: 253_402_300_799,

  // billing
  /** Messages of SNS and of Stripe have 256 KiB at most. */
  webhookBytesMax: 262_144,
  webhooksPerMinuteMax: 1_200,
  webhookAgeSecondsMax: 300,
  billingReadMs: 1_000,
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
  /** How long the customer of a deleted organization stays for an invoice that is not paid. */
  deletedCustomerMsMax: 30 * 86_400_000,
  billingListMax: 24,
  billingCatalogMs: 60_000,
  plansFileBytesMax: 1_048_576,
  usageReportMs: 20_000,
  usageReportsRunningMax: 8,
  /** How late a minute of usage may be written. */
  usageWriteDelayMsMax: 15_000,
  /** What Stripe still takes. */
  usageReportMsMax: 34 * 86_400_000,
  /** Stripe remembers the identifiers of meter events for at least a day. */
  meterIdentifierMsMax: 23 * 3_600_000,
  grantGraceMs: 3 * 86_400_000,
  redemptionsPerHourMax: 10,
  redemptionsPerAddressPerHourMax: 20,
  balanceTransactionsMax: 1_000,
  invoiceLinesMax: 1_000,
  billingReadsRunningMax: 4,

  // documents
  documentPagesMax: 5_000,
  documentTextUnitsMax: 50_000_000,
  pageTextUnitsMax: 2_000_000,
  textPagesMax: 100_000,

  // vectors of callers
  ownVectorDimensionsMax: 8_192,
  /** Of the vectors of one document's passages and of their parts. */
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
  /** Of a turn of the event loop, for work that is not urgent. */
  backgroundSliceMsMax: 1,
  /** Of a turn of the event loop, for scanning large request bodies. */
  bodyScanSliceMsMax: 0.4,
  /** Documents that are chunked, embedded and indexed at the same time; the engine stages twice as many. */
  indexingDocumentsMax: 512,
  /** What they may take of memory together, and how much a byte of text becomes: rows, words, codes and the text. */
  indexingBytesMax: 384 * 1_048_576,
  indexingBytesPerTextByte: 6,
  /** A document of at most so much text and so many pages needs few writes. */
  smallTextBytesMax: 65_536,
  smallTextPagesMax: 64,
  /** Text and documents that ride to a chunk worker together. */
  chunkBatchUnitsMax: 65_536,
  chunkBatchDocumentsMax: 8,

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
  /** Words of a query that are looked for in another spelling, and letters of such a word. */
  misspelledWordsMax: 8,
  misspelledUnitsMax: 24,

  // store
  storePendingBytesMax: 128 * 1_048_576,
  storeGroupBytesMax: 16 * 1_048_576,
  storeRangeChunk: 256,
  storeRangeChunkBytes: 1_048_576,
  sweepOperationsMax: 2_000,
  sweepConcurrencyMax: 32,
  garbageDelayMs: 60_000,
  organizationGraceMs: 3_000,
  freeSpaceCheckMs: 2_000,
  storeReopenMs: 1_000,
  storeReopenBytes: 8 * 1_048_576,
  storeCacheBytes: 96 * 1_048_576,
  cachedRecordsMax: 4_096,
} as const;

/** Shard counts a collection may have; chosen at creation. */
export const shardCounts = [1, 8, 16, 32, 64] as const;

assert(limits.waitMsMax < limits.requestMsMax, 'a waiting add answers before the request deadline');
assert(limits.requestMsMax < 60_000, 'every call answers inside the 60 s of the official clients');
assert(limits.fineChunkUnitsMax < limits.coarseChunkUnitsMin, 'precise chunks nest inside coarse ones');
assert(
  2 * limits.signInMailRefillMs <= limits.magicLinkMsMax,
  'a mailbox always holds a valid link, however many were asked for',
);
assert(limits.pageTextUnitsMax <= limits.documentTextUnitsMax, 'one page fits into a document');
assert(limits.metadataBytesMax < limits.metadataBytesRaisedMax, 'the metadata limit can be raised');
assert(
  limits.metadataBytesRaisedMax <= limits.multipartFieldBytesMax,
  'raised metadata fit into a field of a form',
);
assert(
  limits.bodyIdleMsMax < 10_000,
  'a stalled body is answered before uWebSockets.js cuts it off after 10 s',
);
