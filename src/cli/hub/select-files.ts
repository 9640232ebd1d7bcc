import { AppError } from '../../core/app-error.ts';
import { chooseGraph } from '../../models/choose-graph.ts';
import type { CatalogModel } from './catalog.ts';
import { isSafePath } from './file-names.ts';
import type { HubFile, HubRepository } from './hub-repository.ts';

/** A file to download. */
export interface PlannedFile {
  readonly path: string;
  readonly bytes: number;
  readonly hash: { readonly algorithm: 'sha256' | 'git-sha1'; readonly hex: string };
}

/** Files of one model at one commit. */
export interface DownloadPlan {
  /** Name of the repository: `organization/name`. */
  readonly repository: string;
  readonly commit: string;
  readonly license: string | null;
  readonly graph: string;
  readonly files: readonly PlannedFile[];
}

const filesMax = 64;
/** Size of a file that a tar header of the USTAR format can hold. */
const fileBytesMax = 8 * 2 ** 30 - 1;
const configuration =
  /^(config|tokenizer|tokenizer_config|modules|sentence_bert_config|config_sentence_transformers)\.json$/;
const moduleFiles = /^\d+_[A-Za-z]+\/(config\.json|model\.safetensors)$/;
const legalFiles = /^(LICENSE|NOTICE)(\.(txt|md))?$/;

interface Request {
  readonly repository: string;
  readonly graph: string | null;
  /** Pinned model of a catalog; null: none. */
  readonly pins: CatalogModel | null;
}

/**
 * Chooses the files that `quarry models add` reads: configuration, tokenizer, one graph with its weights, and licenses.
 * Errors: AppError for a repository without an ONNX model, or files that differ from their pins.
 */
export function planDownload(
  { commit, license, files }: HubRepository,
  { repository, graph: requested, pins }: Request,
): DownloadPlan {
  const paths = files.map(({ path }) => path);
  const graph = findGraph(paths, repository, requested ?? pins?.graph ?? null);
  for (const required of ['config.json', 'tokenizer.json'])
    if (!paths.includes(required))
      throw new AppError('not_found', `${repository} has no ${required}, which Quarry needs.`);
  const selected = files.filter(({ path }) => isNeeded(path, graph));
  if (selected.length > filesMax)
    throw new AppError(
      'too_large',
      `The model needs ${selected.length} files of ${repository}; the limit is ${filesMax}.`,
    );
  const planned = selected.map((file) => toPlannedFile(file, repository));
  const plan = { repository, commit, license, graph, files: planned };
  return pins === null || pins.files.length === 0 ? plan : { ...plan, files: applyPins(plan, pins) };
}

function findGraph(paths: readonly string[], repository: string, requested: string | null): string {
  const graphs = paths.filter((path) => /^(onnx\/)?[^/]+\.onnx$/.test(path)).sort();
  const graph = chooseGraph(graphs, requested);
  if (graph !== undefined) return graph;
  if (graphs.length === 0)
    throw new AppError(
      'not_found',
      `${repository} has no ONNX model: model.onnx or onnx/model.onnx. Run it in a model service instead.`,
    );
  throw new AppError(
    'not_found',
    `${repository} has ${requested === null ? 'several ONNX graphs' : `no graph ${JSON.stringify(requested)}`}; choose one with --graph: ${graphs.join(', ')}.`,
  );
}

/** The weights of a graph are beside it, and their names start with its name. */
function isNeeded(path: string, graph: string): boolean {
  const weights = [`${graph}_`, `${graph}.`];
  return (
    path === graph ||
    path === `${graph.replace(/\.onnx$/, '')}.bin` ||
    (weights.some((start) => path.startsWith(start)) && !path.endsWith('.onnx')) ||
    [configuration, moduleFiles, legalFiles].some((pattern) => pattern.test(path))
  );
}

function toPlannedFile({ path, bytes, sha256, gitHash }: HubFile, repository: string): PlannedFile {
  if (!isSafePath(path))
    throw new AppError('invalid', `${repository} has a file with the invalid name ${JSON.stringify(path)}.`);
  const hash =
    sha256 !== null
      ? ({ algorithm: 'sha256', hex: sha256 } as const)
      : gitHash !== null
        ? ({ algorithm: 'git-sha1', hex: gitHash } as const)
        : null;
  if (bytes === null || hash === null)
    throw new AppError('invalid', `The hub lists no size or no hash of ${path}, which cannot be verified.`);
  if (bytes > fileBytesMax)
    throw new AppError('too_large', `${path} has ${bytes} bytes; the limit is ${fileBytesMax}.`);
  return { path, bytes, hash };
}

/** Only pinned files are downloaded. Errors: AppError if the hub has others, or if a needed file is not pinned. */
function applyPins(
  { repository, commit, graph, files }: DownloadPlan,
  pins: CatalogModel,
): readonly PlannedFile[] {
  const reject = (reason: string) =>
    new AppError('conflict', `${repository} differs from the catalog: ${reason}. Nothing was downloaded.`);
  if (commit !== pins.revision) throw reject(`the hub answered with the commit ${commit}`);
  for (const needed of ['config.json', 'tokenizer.json', graph])
    if (!pins.files.some(({ path }) => path === needed)) throw reject(`${needed} is not pinned`);
  return pins.files.map(({ path, bytes, sha256 }) => {
    const file = files.find((candidate) => candidate.path === path);
    if (file === undefined) throw reject(`the hub has no ${path}`);
    if (file.bytes !== bytes || (file.hash.algorithm === 'sha256' && file.hash.hex !== sha256))
      throw reject(`${path} has another size or hash`);
    return { path, bytes, hash: { algorithm: 'sha256', hex: sha256 } };
  });
}
