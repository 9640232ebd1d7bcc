import { access, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readHubVariables } from '../../config/settings.ts';
import { AppError } from '../../core/app-error.ts';
import { addModel, checkNewModelName } from '../../models/added-models.ts';
import type { LocalModel } from '../../models/local-model.ts';
import type { CommandContext, CommandOptions } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { loadCatalog } from '../model-catalog.ts';
import { describeAddedModel, readModelOptions } from '../model-options.ts';
import { ProgressBar } from '../progress.ts';
import { formatBytes, pluralize, toPrintable } from '../text-layout.ts';
import { writeBundle } from './bundle.ts';
import { type CatalogModel, getCatalogModel } from './catalog.ts';
import { checkFreeSpace } from './disk-space.ts';
import { countMissingBytes, downloadFiles } from './download.ts';
import { HubClient } from './hub-client.ts';
import { repeatRequests } from './repeat.ts';
import { type DownloadPlan, planDownload } from './select-files.ts';

/** Model and options that the user requested. */
interface PullTarget {
  readonly repository: string;
  readonly revision: string;
  /** Default name of the model. */
  readonly name: string;
  readonly pins: CatalogModel | null;
}

interface Pull extends PullTarget {
  readonly client: HubClient;
  readonly plan: DownloadPlan;
  /** Absolute path of the bundle; null: the model is added to the data directory. */
  readonly bundle: string | null;
  /** Folder of the download, which the next run of an interrupted one continues. */
  readonly folder: string;
}

const defaultRevision = 'main';

/** `quarry models pull`. Resolves with the exit code. Errors: AppError. */
export async function pull(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { settings } = context.loaded;
  const target = await findTarget(args[0] ?? '', options);
  const bundle = options.to === undefined ? null : resolve(String(options.to));
  await checkTarget(settings, { bundle, name: readModelOptions(options, target).id });
  const client = openClient(context.signal);
  try {
    const repository = await repeatRequests({ signal: context.signal }, () =>
      client.readRepository(target.repository, target.revision),
    );
    const graph = (options.graph as string | undefined) ?? null;
    const plan = planDownload(repository, { ...target, graph });
    const folder =
      bundle === null
        ? join(settings.data, 'models', '.downloads', `${plan.repository.replace('/', '--')}@${plan.commit}`)
        : `${bundle}.download`;
    const work = { ...target, client, plan, bundle, folder };
    const exitCode = await confirmPlan(context, work, options);
    return exitCode ?? (await download(context, work, options));
  } finally {
    await client.close();
  }
}

/** Parses `hf:organization/name@revision`, or finds the name in the catalog. Errors: AppError. */
async function findTarget(text: string, options: CommandOptions): Promise<PullTarget> {
  const [, repository, name, revision = defaultRevision] =
    /^hf:([\w.-]+\/([\w.-]+))(?:@([\w.\-/]+))?$/.exec(text) ?? [];
  if (repository !== undefined && name !== undefined && !/(^|\/)\.{1,2}(\/|$)/.test(repository))
    return { repository, revision, name, pins: null };
  if (text.startsWith('hf:'))
    throw new AppError(
      'bad_request',
      `${JSON.stringify(text)} is not a repository; expected hf:organization/name or hf:organization/name@revision.`,
    );
  const pins = getCatalogModel(await loadCatalog(options), text);
  if (pins.runs_in === 'service')
    throw new AppError(
      'bad_request',
      `${text} does not run in the server. Run ${pins.source.slice('hf:'.length)} in a model service, and set QUARRY_${pins.kind === 'embedding' ? 'EMBEDDING' : 'RERANK'}_URL.`,
    );
  return {
    repository: pins.source.slice('hf:'.length),
    revision: pins.revision ?? defaultRevision,
    name: pins.name,
    pins,
  };
}

/** Fails before the download if its result could not be stored. */
async function checkTarget(
  { data, egress }: CommandContext['loaded']['settings'],
  { bundle, name }: { readonly bundle: string | null; readonly name: string },
): Promise<void> {
  if (egress === 'none')
    throw new AppError(
      'forbidden',
      'QUARRY_EGRESS is "none", which forbids connections. Pull the model with --to on another machine, and add the bundle here.',
    );
  if (bundle === null) {
    return checkNewModelName(data, name);
  }
  const exists = await access(bundle).then(
    () => true,
    () => false,
  );
  if (exists) throw new AppError('conflict', `${bundle} already exists. Choose another file with --to.`);
}

function openClient(signal: AbortSignal): HubClient {
  const variables = readHubVariables();
  try {
    return new HubClient({ ...variables, signal });
  } catch (cause) {
    throw new AppError(
      'bad_request',
      `HF_ENDPOINT, HTTP_PROXY or HTTPS_PROXY is not a valid URL: ${(cause as Error).message}.`,
      { cause },
    );
  }
}

/** Shows what would be downloaded. Returns the exit code if the user does not agree. */
async function confirmPlan(
  { terminal }: CommandContext,
  { client, repository, revision, pins, plan, folder }: Pull,
  options: CommandOptions,
): Promise<number | null> {
  const total = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const missing = await countMissingBytes(plan, folder);
  const started = missing < total ? `, ${formatBytes(total - missing)} of them downloaded earlier` : '';
  const hashes = pins !== null && pins.files.length > 0 ? 'pinned in the catalog' : 'as listed by the host';
  const pinned = revision === plan.commit ? '' : `, now the end of ${revision}; append @commit to pin it`;
  const facts = [
    ['host', `${client.endpoint.host}${client.sendsToken ? ', with HF_TOKEN' : ''}`],
    ['model', repository],
    ['commit', `${plan.commit}${pinned}`],
    ['license', plan.license ?? 'not specified; see the page of the model'],
    ['download', `${pluralize(plan.files.length, 'file')}, ${formatBytes(total)} (${total} bytes)${started}`],
    ...plan.files.map(({ path, bytes }) => ['', `${path} (${formatBytes(bytes)})`]),
    ['hashes', hashes],
  ];
  for (const [label = '', value = ''] of facts) {
    const line = `${label.padEnd(10)}${toPrintable(value)}`;
    if (options.json === true) terminal.note(`${line}\n`);
    else terminal.out(line);
  }
  const isConfirmed = options.yes === true || (await terminal.confirm('Download?'));
  if (isConfirmed === true) return null;
  terminal.note(
    isConfirmed === null
      ? 'quarry: cannot ask for confirmation without a terminal; use --yes to skip it\n'
      : 'Nothing was downloaded.\n',
  );
  return isConfirmed === null ? exitCodes.usage : exitCodes.failed;
}

async function download(context: CommandContext, work: Pull, options: CommandOptions): Promise<number> {
  const { terminal, clock, signal, loaded } = context;
  const { plan, folder, client, bundle, name } = work;
  const total = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
  await mkdir(folder, { recursive: true });
  // The model is copied from the download, or into the bundle.
  await checkFreeSpace(folder, (await countMissingBytes(plan, folder)) + total);
  const bar = new ProgressBar('Download', terminal, clock);
  const onProgress = (done: number) => bar.update({ done, total, label: formatBytes(done) });
  try {
    await downloadFiles(plan, { client, folder, signal, onProgress });
  } catch (error) {
    bar.finish('Download failed.');
    throw error;
  }
  bar.finish(`Downloaded and verified ${pluralize(plan.files.length, 'file')}.`);
  const origin = { name, graph: plan.graph, source: `hf:${plan.repository}@${plan.commit}` };
  const overrides = readModelOptions(options, origin);
  const added =
    bundle === null
      ? await addModel(loaded.settings.data, folder, overrides)
      : await writeBundle(bundle, { folder, name: overrides.id, plan });
  await rm(folder, { recursive: true, force: true });
  if (options.json === true) terminal.out(JSON.stringify(added));
  else if (bundle !== null)
    terminal.out(toPrintable(`Wrote ${bundle}. Add it with \`quarry models add\` on the other machine.`));
  else for (const line of describeAddedModel(added as LocalModel)) terminal.out(line);
  return exitCodes.done;
}
