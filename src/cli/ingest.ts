import { AppError } from '../core/app-error.ts';
import { limits, shardCounts } from '../core/limits.ts';
import type { GetCollectionListResponse } from '../schemas/collections.ts';
import type { DocumentMetadataJson } from '../schemas/wire.ts';
import { ApiResponseError } from './api-client.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { collectionOption, jsonOption } from './command.ts';
import { hasFailed, type ListedDocument, listDocuments } from './document-list.ts';
import { exitCodes } from './exit-codes.ts';
import { type FollowResult, followUntilFinal } from './follow.ts';
import { integerOption, jsonObjectOption } from './option-values.ts';
import { PathChanges } from './path-changes.ts';
import { ProgressBar } from './progress.ts';
import { formatBytes, pluralize, toPrintable } from './text-layout.ts';
import { hashFile, Uploader } from './upload.ts';
import { findFiles, type LocalFile } from './walk.ts';

const reasonsShownMax = 20;

interface RejectedFile {
  readonly path: string;
  readonly reason: string;
}

/** Counters of a running upload. */
interface IngestCounts {
  added: number;
  overwritten: number;
  unchanged: number;
  /** Null without `--mirror`. */
  deleted: number | null;
  bytes: number;
  /** Paths to wait for, including unchanged files that are not indexed yet. */
  readonly followed: Set<string>;
  readonly rejected: RejectedFile[];
}

interface IngestPlan {
  readonly collection: string;
  readonly files: readonly LocalFile[];
  readonly known: ReadonlyMap<string, ListedDocument>;
  /** Metadata from the command line; null keeps the metadata of existing documents. */
  readonly metadata: DocumentMetadataJson | null;
  readonly parallel: number;
}

export const ingestCommand: CommandSpec = {
  usage: 'ingest <paths...>',
  settings: 'client',
  summary: 'add files and folders to a collection and wait until they are searchable',
  options: [
    collectionOption,
    {
      flags: '--shards <count>',
      meaning: `shards of a new collection: ${shardCounts.join(', ')}`,
      default: '1',
    },
    {
      flags: '--prefix <text>',
      meaning: 'prefix of every document path, for example handbook/',
      default: '',
    },
    {
      flags: '--metadata <json>',
      meaning: 'metadata of the documents; existing documents keep theirs if omitted',
    },
    { flags: '--hidden', meaning: 'include files and folders whose name starts with a dot' },
    { flags: '--parallel <count>', meaning: 'concurrent uploads, 1 to 64', default: '4' },
    {
      flags: '--mirror',
      meaning: 'delete all documents that have no file and whose paths start with the prefix',
    },
    { flags: '--watch', meaning: 'continue, and upload again after each change, until Ctrl-C' },
    { flags: '--no-wait', meaning: 'do not wait until the documents are indexed' },
    { flags: '--strict', meaning: 'exit code 1 also if a document could not be parsed or indexed' },
    jsonOption,
  ],
  examples: [
    'quarry ingest docs/',
    'quarry ingest report.pdf notes/ --collection research --shards 8',
    'quarry ingest handbook --prefix handbook/ --metadata \'{"team": "support"}\'',
  ],
  interrupted: 'uploaded files are kept; run the same command again to continue',
  run: ingest,
};

async function ingest(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  if (options.watch !== true) return await ingestOnce(context, args, options);
  const changes = new PathChanges(args);
  try {
    for (let run = 1; ; run += 1) {
      changes.reset();
      await ingestOnce(context, args, options, run > 1);
      await changes.next(context.api.signal);
    }
  } finally {
    changes.close();
  }
}

/** `mayBeEmpty`: whether all files can have been deleted since an earlier run. */
async function ingestOnce(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
  mayBeEmpty = false,
): Promise<number> {
  const collection = String(options.collection);
  const prefix = String(options.prefix);
  const shards = integerOption(options, 'shards', { minimum: 1, maximum: 64 });
  const parallel = integerOption(options, 'parallel', { minimum: 1, maximum: 64 });
  const metadata = jsonObjectOption(options, 'metadata') as DocumentMetadataJson | null;
  const startedAt = context.clock.monotonic();

  const found = await findFiles({ paths: args, hidden: options.hidden === true, prefix });
  if (found.files.length === 0 && found.unreadable.length === 0 && !mayBeEmpty) {
    throw new AppError('bad_request', 'No files to ingest. Use --hidden to include hidden files.');
  }
  const isNew = await createIfMissing(context, collection, shards);
  const known = isNew ? new Map<string, ListedDocument>() : await knownDocuments(context, collection, prefix);
  const counts: IngestCounts = {
    added: 0,
    overwritten: 0,
    unchanged: 0,
    deleted: null,
    bytes: 0,
    followed: new Set(),
    rejected: found.unreadable.map((entry) => ({ ...entry })),
  };
  const plan: IngestPlan = { collection, files: found.files, known, metadata, parallel };
  await uploadAll(context, plan, counts);
  if (options.mirror === true) counts.deleted = await deleteOthers(context, plan, found.unreadable);
  const followed = options.wait === false ? null : await follow(context, plan, prefix, counts);
  const seconds = (context.clock.monotonic() - startedAt) / 1000;
  printReport(context, { plan, counts, followed, seconds, json: options.json === true });
  if (counts.rejected.length > 0) return exitCodes.failed;
  return options.strict === true && followed !== null && followed.failed.length > 0
    ? exitCodes.failed
    : exitCodes.done;
}

/** Creates the collection if needed. Returns whether it did not exist before. */
async function createIfMissing(
  context: CommandContext,
  collection: string,
  shards: number,
): Promise<boolean> {
  const list = await context.api.call<GetCollectionListResponse>('collections/get-collection-list', {});
  if (list.collection_names.includes(collection)) return false;
  try {
    await context.api.call('collections/add-collection', { collection_name: collection, num_shards: shards });
    return true;
  } catch (error) {
    // Created concurrently by another client.
    if (error instanceof ApiResponseError && error.status === 409) return false;
    throw error;
  }
}

async function knownDocuments(context: CommandContext, collection: string, prefix: string) {
  const known = new Map<string, ListedDocument>();
  for await (const document of listDocuments(context.api, { collection, prefix })) {
    known.set(document.path, document);
  }
  return known;
}

async function uploadAll(context: CommandContext, plan: IngestPlan, counts: IngestCounts): Promise<void> {
  const uploader = new Uploader(context.api, context.clock, plan.collection);
  const progress = new ProgressBar('uploading', context.terminal, context.clock);
  const bytesTotal = plan.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  let filesDone = 0;
  let bytesDone = 0;
  const queue = plan.files[Symbol.iterator]();
  const errors: unknown[] = [];
  const showProgress = () => {
    const rate = formatBytes((bytesDone / Math.max(1, progress.elapsedMs)) * 1000);
    const label = `${filesDone}/${pluralize(plan.files.length, 'file')}, ${rate}/s`;
    // Each file counts one extra byte, so that a folder of empty files shows progress.
    progress.update({ done: bytesDone + filesDone, total: bytesTotal + plan.files.length, label });
  };
  const work = async () => {
    for (const file of queue) {
      // A permanent error (no server, wrong key, Ctrl-C) stops all uploads.
      if (errors.length > 0) return;
      await uploadFile(uploader, plan, file, counts);
      filesDone += 1;
      bytesDone += file.sizeBytes;
      showProgress();
    }
  };
  showProgress();
  try {
    const note = (error: unknown) => void errors.push(error);
    await Promise.all(Array.from({ length: plan.parallel }, () => work().catch(note)));
    if (errors.length > 0) throw errors[0];
  } finally {
    progress.finish(
      `${filesDone} of ${pluralize(plan.files.length, 'file')}: ${counts.added} added, ${counts.overwritten} overwritten, ${counts.unchanged} unchanged, ${counts.rejected.length} rejected`,
    );
  }
}

/**
 * Deletes the documents without a file. Errors: `bad_request` if some entries could not be read, because their documents
 * could have files.
 */
async function deleteOthers(
  { api }: CommandContext,
  { collection, files, known }: IngestPlan,
  unreadable: readonly RejectedFile[],
): Promise<number> {
  const [first] = unreadable;
  if (first !== undefined)
    throw new AppError(
      'bad_request',
      `${first.path} cannot be read: ${first.reason}. All files were uploaded, and no document was deleted. Make it readable, then run the command again.`,
    );
  const paths = new Set(files.map(({ path }) => path));
  const others = [...known.keys()].filter((path) => !paths.has(path));
  for (let at = 0; at < others.length; at += limits.deletePathsMax) {
    const path = others.slice(at, at + limits.deletePathsMax);
    try {
      await api.call('documents/delete-document', { collection_name: collection, path });
    } catch (error) {
      // Deleted by another client.
      if (!(error instanceof ApiResponseError) || error.status !== 404) throw error;
    }
  }
  return others.length;
}

async function uploadFile(
  uploader: Uploader,
  plan: IngestPlan,
  file: LocalFile,
  counts: IngestCounts,
): Promise<void> {
  const known = plan.known.get(file.path);
  if (known !== undefined && (await isUnchanged(file, known, plan.metadata))) {
    counts.unchanged += 1;
    counts.followed.add(file.path);
    return;
  }
  const outcome = await uploader.upload({ file, metadata: plan.metadata ?? known?.metadata ?? {} });
  if (outcome.kind === 'refused') {
    counts.rejected.push({ path: file.path, reason: outcome.reason });
    return;
  }
  counts[outcome.kind] += 1;
  counts.bytes += file.sizeBytes;
  counts.followed.add(file.path);
}

async function isUnchanged(file: LocalFile, known: ListedDocument, metadata: DocumentMetadataJson | null) {
  if (known.size !== file.sizeBytes || known.sha256 === undefined || known.sha256 === null) return false;
  if (metadata !== null && toCanonicalJson(metadata) !== toCanonicalJson(known.metadata)) return false;
  return (await hashFile(file.absolute)) === known.sha256;
}

/** Serializes metadata independently of key order. */
function toCanonicalJson(metadata: DocumentMetadataJson): string {
  return JSON.stringify(Object.entries(metadata).sort(([left], [right]) => (left < right ? -1 : 1)));
}

async function follow(
  context: CommandContext,
  plan: IngestPlan,
  prefix: string,
  counts: IngestCounts,
): Promise<FollowResult> {
  const isUnchangedRun = counts.added + counts.overwritten === 0;
  const hasPending = [...plan.known.values()].some(
    (document) => document.index_status !== 'indexed' && !hasFailed(document),
  );
  if (isUnchangedRun && !hasPending) return finishedResult(plan, counts);
  const progress = new ProgressBar('indexing', context.terminal, context.clock);
  try {
    const request = { collection: plan.collection, paths: counts.followed, prefix };
    const result = await followUntilFinal(context.api, context.clock, request, progress);
    progress.finish(`${result.indexed} indexed, ${result.failed.length} failed`);
    return result;
  } finally {
    progress.finish('indexing continues on the server');
  }
}

/**
 * Returns the result from the initial list: nothing was uploaded and nothing is pending, so the list is still
 * valid.
 */
function finishedResult(plan: IngestPlan, counts: IngestCounts): FollowResult {
  const documents = [...counts.followed]
    .map((path) => plan.known.get(path))
    .filter((known) => known !== undefined);
  const failed = documents.filter(hasFailed);
  return { indexed: documents.length - failed.length, failed, deleted: 0 };
}

interface IngestReport {
  readonly plan: IngestPlan;
  readonly counts: IngestCounts;
  readonly followed: FollowResult | null;
  readonly seconds: number;
  readonly json: boolean;
}

function printReport(context: CommandContext, report: IngestReport): void {
  const { plan, counts, followed } = report;
  const failures = (followed?.failed ?? []).map((document) => ({
    path: document.path,
    reason: document.error ?? document.index_status,
  }));
  if (report.json) {
    const result = {
      collection: plan.collection,
      files: plan.files.length,
      added: counts.added,
      overwritten: counts.overwritten,
      unchanged: counts.unchanged,
      ...(counts.deleted === null ? {} : { deleted: counts.deleted }),
      bytes: counts.bytes,
      seconds: report.seconds,
      refused: counts.rejected,
      indexed: followed?.indexed ?? null,
      failed: followed === null ? null : failures,
    };
    context.terminal.out(JSON.stringify(result));
    return;
  }
  const uploadedText = `${formatBytes(counts.bytes)} in ${report.seconds.toFixed(1)} s`;
  const deletedText = counts.deleted === null ? '' : `, ${counts.deleted} deleted`;
  const foundText =
    followed === null
      ? ''
      : `; ${followed.indexed} of ${pluralize(counts.followed.size, 'document')} searchable`;
  context.terminal.out(
    `${plan.collection}: ${counts.added + counts.overwritten} uploaded, ${counts.unchanged} unchanged${deletedText} (${uploadedText})${foundText}`,
  );
  formatReasons('Rejected', counts.rejected).forEach(context.terminal.out);
  formatReasons('Failed', failures).forEach(context.terminal.out);
}

/** Groups paths by reason, because a thousand files of one unsupported type are a single piece of information. */
function formatReasons(title: string, entries: readonly RejectedFile[]): string[] {
  const pathsByReason = new Map<string, string[]>();
  for (const { path, reason } of entries) {
    pathsByReason.set(reason, [...(pathsByReason.get(reason) ?? []), path]);
  }
  const lines = [...pathsByReason].map(([reason, paths]) => {
    const others = paths.length > 1 ? ` and ${paths.length - 1} more` : '';
    return `  ${toPrintable(paths[0]!)}${others}: ${toPrintable(reason)}`;
  });
  if (lines.length === 0) return [];
  const rest = lines.length - reasonsShownMax;
  return [
    `${title}: ${entries.length}`,
    ...lines.slice(0, reasonsShownMax),
    ...(rest > 0 ? [`  and ${rest} more reasons; use --json for all`] : []),
  ];
}
