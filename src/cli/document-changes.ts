import { AppError } from '../core/app-error.ts';
import type { DeleteDocumentsResponse, UpdateDocumentsResponse } from '../schemas/document-changes.ts';
import { requireConfirmation } from './collections.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { collectionOption, jsonOption, yesOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { jsonObjectOption } from './option-values.ts';
import { pluralize, toPrintable } from './text-layout.ts';

const selectionOptions = [
  collectionOption,
  { flags: '--filter <json>', meaning: 'only documents whose metadata matches this filter' },
  { flags: '--prefix <text>', meaning: 'only paths with this prefix' },
  { flags: '--dry-run', meaning: 'change nothing; print the number of documents and some of their paths' },
];

/** Commands that change all documents that match a filter. */
export const documentChangeCommands: readonly CommandSpec[] = [
  {
    usage: 'documents delete-by-filter',
    settings: 'client',
    summary: 'delete all documents that match a filter or a prefix',
    options: [...selectionOptions, yesOption, jsonOption],
    examples: [
      'quarry documents delete-by-filter --filter \'{"author": "Ada"}\' --dry-run',
      'quarry documents delete-by-filter --prefix drafts/ --yes',
    ],
    interrupted: 'deleted documents stay deleted; run the command again to continue',
    run: removeMatching,
  },
  {
    usage: 'documents update-by-filter',
    settings: 'client',
    summary: 'change metadata of all documents that match a filter or a prefix',
    options: [
      ...selectionOptions,
      { flags: '--patch <json>', meaning: 'attributes to set, or to remove with null (JSON merge patch)' },
      yesOption,
      jsonOption,
    ],
    examples: [
      'quarry documents update-by-filter --filter \'{"author": "Ada"}\' --patch \'{"author": "Grace", "draft": null}\'',
    ],
    interrupted: 'updated documents stay updated; run the command again to continue',
    run: updateMatching,
  },
];

/** Paths that a dry run prints. */
const shownPathsMax = 10;

async function removeMatching(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const call = (fields: object) =>
    context.api.call<DeleteDocumentsResponse>('documents/delete-documents', {
      ...selectionOf(options),
      ...fields,
    });
  const preview = await call({ dry_run: true });
  const count = preview.num_matching ?? 0;
  if (options.dryRun === true) return showPreview(context, options, preview.deleted_paths, count);
  if (count > 0) await confirm(context, options, `Delete ${pluralize(count, 'document')}?`);
  const deleted: string[] = [];
  for (let hasMore = count > 0; hasMore; ) {
    const reply = await call({});
    deleted.push(...reply.deleted_paths);
    hasMore = reply.has_more;
  }
  context.terminal.out(
    options.json === true
      ? JSON.stringify({ deleted_paths: deleted })
      : `${pluralize(deleted.length, 'document')} deleted.`,
  );
  return exitCodes.done;
}

async function updateMatching(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const patch = jsonObjectOption(options, 'patch');
  if (patch === null)
    throw new AppError('bad_request', 'Set --patch <json>, such as --patch \'{"author": "Grace"}\'.');
  const call = (fields: object) =>
    context.api.call<UpdateDocumentsResponse>('documents/update-documents', {
      ...selectionOf(options),
      metadata_patch: patch,
      ...fields,
    });
  const preview = await call({ dry_run: true });
  const count = preview.num_matching ?? 0;
  if (options.dryRun === true) return showPreview(context, options, preview.updated_paths, count);
  if (count > 0) await confirm(context, options, `Change the metadata of ${pluralize(count, 'document')}?`);
  const updated: string[] = [];
  let skipped = preview.skipped_paths;
  for (let hasMore = count > 0; hasMore; ) {
    const reply = await call({});
    updated.push(...reply.updated_paths);
    skipped = reply.skipped_paths;
    hasMore = reply.has_more;
  }
  context.terminal.out(
    options.json === true
      ? JSON.stringify({ updated_paths: updated, skipped_paths: skipped })
      : `${pluralize(updated.length, 'document')} updated.`,
  );
  if (skipped.length > 0)
    context.terminal.note(
      `${pluralize(skipped.length, 'document')} skipped: not indexed. Run the command again later.\n`,
    );
  return skipped.length > 0 ? exitCodes.failed : exitCodes.done;
}

function selectionOf(options: CommandOptions): object {
  const filter = jsonObjectOption(options, 'filter');
  if (filter === null && options.prefix === undefined)
    throw new AppError('bad_request', 'Set --filter <json> or --prefix <text>.');
  return {
    collection_name: String(options.collection),
    ...(filter === null ? {} : { filter }),
    ...(options.prefix === undefined ? {} : { path_prefix: String(options.prefix) }),
  };
}

function confirm(context: CommandContext, options: CommandOptions, question: string): Promise<void> {
  return options.yes === true ? Promise.resolve() : requireConfirmation(context, question);
}

function showPreview(
  context: CommandContext,
  options: CommandOptions,
  paths: readonly string[],
  count: number,
): number {
  if (options.json === true) {
    context.terminal.out(JSON.stringify({ num_matching: count, paths }));
    return exitCodes.done;
  }
  context.terminal.out(`${pluralize(count, 'document')} would change.`);
  for (const path of paths.slice(0, shownPathsMax)) context.terminal.out(`  ${toPrintable(path)}`);
  if (count > shownPathsMax) context.terminal.out(`  and ${count - shownPathsMax} more`);
  return exitCodes.done;
}
