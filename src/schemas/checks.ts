import { AppError } from '../core/app-error.ts';
import { changeLimits } from '../core/change-limits.ts';
import { countCodePoints } from '../core/code-points.ts';
import { limits, shardCounts } from '../core/limits.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { GetChangesRequest } from './changes.ts';
import type { APIParsedDocument } from './document-content.ts';
import { listPrefix, type MetadataSchema } from './metadata-schema.ts';
import type { DocumentMetadataJson } from './wire.ts';

/**
 * Ranges and rules of the wire contract whose violation is a 400, so they are not keywords of the schemas.
 * Errors: each function throws AppError `bad_request` with a message that names the problem.
 */

function reject(detail: string): never {
  throw new AppError('bad_request', detail);
}

/** Whether the text has an unpaired surrogate, which UTF-8 cannot encode. */
function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

/** Formats a count with thousands separators: 1,024. */
function formatNumber(count: number): string {
  return count.toLocaleString('en-US');
}

/** 1 to `bytesMax` bytes of UTF-8, no NUL, no lone surrogate. */
export function checkName(noun: string, name: string, bytesMax: number): void {
  if (name.length === 0) reject(`The ${noun} is empty.`);
  if (name.includes('\0')) reject(`The ${noun} contains a NUL character.`);
  if (hasLoneSurrogate(name)) reject(`The ${noun} contains a lone surrogate, which is not a character.`);
  const bytes = Buffer.byteLength(name);
  if (bytes > bytesMax) {
    reject(
      `The ${noun} is ${formatNumber(bytes)} bytes of UTF-8; at most ${formatNumber(bytesMax)} are allowed.`,
    );
  }
}

export function checkInteger(noun: string, value: number, minimum: number, maximum: number): void {
  if (value < minimum || value > maximum) {
    reject(`${noun} is ${value}; it must be from ${formatNumber(minimum)} to ${formatNumber(maximum)}.`);
  }
}

/** 1 to 1,024 bytes of UTF-8, no NUL, no lone surrogate. */
export function checkCollectionName(name: string): void {
  checkName('collection name', name, limits.collectionNameBytesMax);
}

/**
 * 1 to 4,096 bytes of UTF-8, no NUL, no lone surrogate. A path is an opaque string: `../` has no meaning in
 * it.
 */
export function checkPath(path: string): void {
  checkName('path', path, limits.pathBytesMax);
}

/** One path, or 1 to 64 paths. */
export function checkPaths(path: string | readonly string[]): void {
  const paths = typeof path === 'string' ? [path] : path;
  if (paths.length < 1 || paths.length > limits.deletePathsMax) {
    reject(
      `path contains ${formatNumber(paths.length)} paths; it must contain 1 to ${limits.deletePathsMax}.`,
    );
  }
  for (const each of paths) checkPath(each);
}

/** Prefix or lower bound of paths: empty, or valid as a path. */
export function checkPathBound(field: string, bound: string): void {
  if (bound.length > 0) checkName(field, bound, limits.pathBytesMax);
}

const mediaTypePattern = /^[a-z]+\/[a-z0-9][a-z0-9.+-]{0,126}(?:; charset=[a-z0-9-]{1,32})?$/;

/** Exactly one file, as bytes or as SHA-256; a media type; bounded title, language and warnings. */
export function checkParsedContent(content: APIParsedDocument): void {
  const { base64_data: data, sha256, content_type: type, title, language, warnings = [] } = content;
  if ((data === undefined) === (sha256 === undefined))
    reject('Content of the type "parsed" requires either base64_data or sha256.');
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256))
    reject('sha256 must have 64 lower-case hexadecimal digits.');
  if (type !== undefined && !mediaTypePattern.test(type))
    reject('content_type must be a media type in lower case, such as "application/pdf".');
  if (title != null && (title.length === 0 || title.length > limits.parsedTitleUnitsMax))
    reject(`title must have 1 to ${limits.parsedTitleUnitsMax} characters, or be null.`);
  if (language != null && !/^[a-z]{2,3}$/.test(language))
    reject('language must be an ISO 639-1 code in lower case, such as "en", or null.');
  const unitsMax = limits.parsedWarningUnitsMax;
  if (warnings.length > limits.parsedWarningsMax || warnings.some(({ length }) => length > unitsMax))
    reject(
      `warnings must contain at most ${limits.parsedWarningsMax} texts of at most ${unitsMax} characters.`,
    );
}

/** 1, 8, 16, 32 or 64. */
export function checkShardCount(count: number): void {
  if (!shardCounts.some((allowed) => allowed === count)) {
    reject(`num_shards is ${count}; it must be one of ${shardCounts.join(', ')}.`);
  }
}

/** 1 to `maximum` results. */
export function checkResultCount(k: number, maximum: number): void {
  checkInteger('k', k, 1, maximum);
}

/** 1 to 1,024 documents. */
export function checkListLimit(limit: number): void {
  checkInteger('limit', limit, 1, limits.listDocumentsMax);
}

/**
 * A text to find in paths, at most 64 extensions of 1 to 64 bytes without a dot, and fields of one way to read pages:
 * `path_gt` without `sort_by`, `cursor` and `descending` with it.
 */
export function checkListFilters(request: {
  readonly path_contains?: string | null;
  readonly path_gt?: string | null;
  readonly extensions?: readonly string[] | null;
  readonly sort_by?: string | null;
  readonly descending?: boolean;
  readonly sort?: readonly unknown[] | null;
  readonly cursor?: string | null;
}): void {
  checkPathBound('path_contains', request.path_contains ?? '');
  const extensions = request.extensions ?? [];
  if (extensions.length > limits.listExtensionsMax)
    reject(
      `extensions contains ${formatNumber(extensions.length)} entries; at most ${limits.listExtensionsMax} are allowed.`,
    );
  for (const extension of extensions) {
    checkName('extension', extension, limits.listExtensionBytesMax);
    if (extension.includes('.')) reject(`The extension ${JSON.stringify(extension)} must not contain a dot.`);
  }
  checkListOrder(request);
}

function checkListOrder(request: Parameters<typeof checkListFilters>[0]): void {
  const sortBy = request.sort_by ?? null;
  const isSorted = (request.sort ?? []).length > 0;
  if (isSorted && (sortBy !== null || request.descending === true))
    reject('sort cannot be combined with sort_by and descending; use the order of each field of sort.');
  if (sortBy === null && !isSorted && (request.descending === true || (request.cursor ?? null) !== null))
    reject('descending and cursor require sort_by.');
  if ((sortBy !== null || isSorted) && (request.path_gt ?? null) !== null)
    reject('path_gt cannot be combined with sort_by; send the next_cursor of the previous page as cursor.');
}

/** 1 second to 100 years. */
export function checkTtl(seconds: number): void {
  checkInteger('default_ttl_seconds', seconds, 1, limits.ttlSecondsMax);
}

/** 1 day to 10 years. */
export function checkHistoryDays(days: number): void {
  checkInteger('history_days', days, 1, queryLimits.historyDaysMax);
}

/** 1 to 64 changes of different aliases. */
export function checkAliasChanges(
  changes: readonly { readonly alias_name: string; readonly collection_name: string | null }[],
): void {
  if (changes.length < 1 || changes.length > limits.aliasChangesMax)
    reject(`changes has ${changes.length} entries; it must have 1 to ${limits.aliasChangesMax}.`);
  const names = new Set(changes.map(({ alias_name: name }) => name));
  if (names.size < changes.length)
    reject('changes contains an alias more than once; send one change for each alias.');
  for (const { alias_name: name, collection_name: target } of changes) {
    checkAliasName(name);
    if (target !== null) checkCollectionName(target);
  }
}

/** As a collection name. */
export function checkAliasName(name: string): void {
  checkName('alias name', name, limits.collectionNameBytesMax);
}

/** 1 to 256 documents. */
export function checkExportLimit(limit: number): void {
  checkInteger('limit', limit, 1, limits.exportDocumentsMax);
}

/** At least 1; may exceed the number of documents. */
export function checkTopN(topN: number, field = 'top_n'): void {
  if (topN < 1) reject(`${field} is ${topN}; it must be at least 1.`);
}

/** A range of text: not negative, and 1 to 100,000 characters. */
export function checkTextRange(request: {
  readonly start_index?: number | null;
  readonly max_characters?: number | null;
}): void {
  const { start_index: start = null, max_characters: count = null } = request;
  if (start !== null && start < 0) reject(`start_index is ${start}; it must not be negative.`);
  if (count !== null) checkInteger('max_characters', count, 1, limits.textRangeCharactersMax);
}

/** 1 to 64 names. */
export function checkRankFields(fields: readonly string[]): void {
  if (fields.length < 1 || fields.length > limits.rankFieldsMax)
    reject(
      `rank_fields has ${formatNumber(fields.length)} names; it must have 1 to ${limits.rankFieldsMax}.`,
    );
}

/** 1 to 50 results. */
export function checkVectorStoreResults(count: number): void {
  checkInteger('max_num_results', count, 1, limits.vectorStoreResultsMax);
}

/** At most 4,096 code points. */
export function checkQuery(query: string): void {
  if (query.length <= limits.queryCodePointsMax) return;
  const codePoints = query.length > 2 * limits.queryCodePointsMax ? Infinity : countCodePoints(query);
  if (codePoints > limits.queryCodePointsMax) {
    reject(`The query has more than ${formatNumber(limits.queryCodePointsMax)} characters.`);
  }
}

/** Nonnegative weights, not both 0; a minimum score from 0 to 1; at least one result per document. */
export function checkQueryControls(request: {
  readonly weights?: { readonly lexical: number; readonly vector: number } | null;
  readonly min_score?: number | null;
  readonly max_per_document?: number | null;
}): void {
  const { weights = null, min_score: minScore = null, max_per_document: maxPerDocument = null } = request;
  if (weights !== null) {
    const { lexical, vector } = weights;
    for (const [side, weight] of Object.entries({ lexical, vector }))
      if (!(weight >= 0 && weight < Infinity))
        reject(`weights.${side} is ${weight}; it must not be negative.`);
    if (lexical === 0 && vector === 0) reject('weights must not both be 0.');
  }
  if (minScore !== null && !(minScore >= 0 && minScore <= 1))
    reject(`min_score is ${minScore}; it must be from 0 to 1.`);
  if (maxPerDocument !== null && maxPerDocument < 1)
    reject(`max_per_document is ${maxPerDocument}; it must be at least 1.`);
}

/** 1 to 256 documents in a batch. */
export function checkBatchSize(count: number): void {
  if (count < 1 || count > limits.batchDocumentsMax) {
    reject(
      `documents contains ${formatNumber(count)} documents; it must contain 1 to ${limits.batchDocumentsMax}.`,
    );
  }
}

/** 1 to 256 bytes, no NUL, no lone surrogate. */
export function checkKeyName(name: string): void {
  checkName('name of the API key', name, limits.apiKeyNameBytesMax);
}

/** The end is not before the start, and both are valid calendar times. */
export function checkUsageTimes(startTime: number, endTime: number): void {
  checkInteger('start_time', startTime, 0, limits.unixSecondsMax);
  checkInteger('end_time', endTime, 0, limits.unixSecondsMax);
  if (endTime < startTime) reject('end_time is before start_time.');
}

const metadataNamePattern = /^[A-Za-z0-9_-]+$/;

function checkMetadataName(name: string, isList: boolean): void {
  const displayedName = JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}...` : name);
  if (isList && !name.startsWith(listPrefix)) {
    reject(`metadata ${displayedName} is a list, so its name must start with "${listPrefix}".`);
  }
  if (!isList && name.startsWith(listPrefix)) {
    reject(`metadata ${displayedName} has the name of a list, so its value must be an array of strings.`);
  }
  const bare = isList ? name.slice(listPrefix.length) : name;
  if (!metadataNamePattern.test(bare)) {
    reject(`The metadata name ${displayedName} must consist of letters, digits, "-" and "_".`);
  }
  if (bare === '__proto__') reject('The metadata name "__proto__" is reserved.');
  if (name.length > limits.metadataNameBytesMax) {
    reject(`The metadata name ${displayedName} is longer than ${limits.metadataNameBytesMax} bytes.`);
  }
}

/**
 * Names of ASCII letters, digits, `-` and `_`; lists only, and always, under `list:` names; well-formed text;
 * finite numbers; points on the earth; at most `bytesMax` bytes of UTF-8 as compact JSON.
 */
export function checkMetadata(metadata: Readonly<DocumentMetadataJson>, bytesMax: number): void {
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes > bytesMax) {
    reject(
      `The metadata is ${formatNumber(bytes)} bytes as compact JSON; at most ${formatNumber(bytesMax)} are allowed.`,
    );
  }
  for (const [name, value] of Object.entries(metadata)) {
    checkMetadataName(name, Array.isArray(value));
    checkMetadataValue(name, value);
  }
}

function checkMetadataValue(name: string, value: DocumentMetadataJson[string]): void {
  if (typeof value === 'number' && !Number.isFinite(value))
    reject(`metadata "${name}" is too large for a 64-bit float.`);
  if (
    typeof value === 'string' ? hasLoneSurrogate(value) : Array.isArray(value) && value.some(hasLoneSurrogate)
  )
    reject(`metadata "${name}" contains a lone surrogate, which is not a character.`);
  if (typeof value !== 'object' || Array.isArray(value)) return;
  const { lat, lon } = value;
  if (!(Math.abs(lat) <= 90))
    reject(`metadata "${name}" has the latitude ${lat}, which is not between -90 and 90.`);
  if (!(Math.abs(lon) <= 180))
    reject(`metadata "${name}" has the longitude ${lon}, which is not between -180 and 180.`);
}

/** Names as in metadata, without lists, and at most 256 of them. */
export function checkMetadataSchema(schema: MetadataSchema): void {
  const names = Object.keys(schema);
  if (names.length > limits.metadataSchemaFieldsMax) {
    reject(
      `metadata_schema has ${formatNumber(names.length)} fields; at most ${limits.metadataSchemaFieldsMax} are allowed.`,
    );
  }
  for (const name of names) {
    if (name.startsWith(listPrefix))
      reject(
        `metadata_schema must not contain ${JSON.stringify(name.slice(0, 64))}: names that start with "${listPrefix}" always hold lists of strings.`,
      );
    checkMetadataName(name, false);
  }
}

const base64Detail =
  'base64_data must be valid base64: the standard alphabet, padded with "=", without line breaks.';

/**
 * Decodes strictly valid base64 (RFC 4648 section 4): whole quanta, padding, no other characters, no set
 * bits after the last byte. Empty text is zero bytes. Errors: AppError `bad_request`.
 */
export function decodeBase64(text: string): Buffer {
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) reject(base64Detail);
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = Buffer.from(text, 'base64');
  // The lenient decoder skips unknown characters, so a foreign character anywhere makes the result too short.
  if (bytes.length !== (text.length / 4) * 3 - padding) reject(base64Detail);
  const lastQuantum = bytes.subarray(bytes.length - (padding === 0 ? 3 : 3 - padding));
  if (lastQuantum.toString('base64') !== text.slice(text.length - 4)) reject(base64Detail);
  return bytes;
}

export function checkGetChanges({ after, limit, wait_seconds: waitSeconds }: GetChangesRequest): void {
  if (after !== undefined && after.length > changeLimits.cursorUnitsMax)
    reject('The field after is too long to be a cursor. Send the cursor of an earlier reply, or "oldest".');
  if (limit !== undefined) checkInteger('limit', limit, 1, changeLimits.perReplyMax);
  if (waitSeconds !== undefined) checkInteger('wait_seconds', waitSeconds, 0, changeLimits.waitSecondsMax);
}
