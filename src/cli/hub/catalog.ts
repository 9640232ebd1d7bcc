import { readFile } from 'node:fs/promises';
import { AppError } from '../../core/app-error.ts';
import { hasErrorCode } from '../../core/error-code.ts';
import { type Static, Type } from '../../schemas/typebox.ts';
import { compileValidator } from '../../schemas/validate.ts';
import { isSafePath } from './file-names.ts';

/** Models that `quarry models search` lists, and files in the same format. Unknown values are null, never estimated. */

const catalogBytesMax = 16 * 1_048_576;
const modelsMax = 10_000;

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
const OrNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) =>
  Type.Union([type, Type.Null()]);

/** Bytes and hash of a file, for verification. */
export const CatalogFile = Type.Object(
  { path: Type.String({ maxLength: 255 }), bytes: Type.Integer({ minimum: 0 }), sha256: Sha256 },
  { additionalProperties: false },
);
export type CatalogFile = Static<typeof CatalogFile>;

export const CatalogModel = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' }),
    kind: Type.Union([Type.Literal('embedding'), Type.Literal('reranker')]),
    /** Repository of the hub, such as `hf:organization/name`. */
    source: Type.String({ pattern: '^hf:[\\w.-]+/[\\w.-]+$' }),
    license: OrNull(Type.String({ maxLength: 100 })),
    /** Language codes; null: unknown. */
    languages: OrNull(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 200 })),
    /** `server`: an ONNX model for `quarry models add`; `service`: needs a model service. */
    runs_in: Type.Union([Type.Literal('server'), Type.Literal('service')]),
    dimensions: OrNull(Type.Integer({ minimum: 1 })),
    /** Maximum tokens of a text. */
    tokens: OrNull(Type.Integer({ minimum: 1 })),
    /** Size of the download. */
    bytes: OrNull(Type.Integer({ minimum: 1 })),
    memory_bytes: OrNull(Type.Integer({ minimum: 1 })),
    /** Commit of the repository; null: not pinned. */
    revision: OrNull(Type.String({ pattern: '^[0-9a-f]{40}$' })),
    /** Path of the graph if the repository has several. */
    graph: OrNull(Type.String({ maxLength: 255 })),
    /** Files at the revision; empty: they are not pinned. */
    files: Type.Array(CatalogFile, { maxItems: 64 }),
  },
  { additionalProperties: false },
);
export type CatalogModel = Static<typeof CatalogModel>;

const unknownFacts = {
  languages: null,
  bytes: null,
  memory_bytes: null,
  revision: null,
  graph: null,
  files: [],
} as const;

/**
 * The models of the hosted service, which its owner published. Sizes, revisions and hashes are unknown: they were not
 * measured on a download.
 */
export const catalog: readonly CatalogModel[] = [
  {
    name: 'zembed-1',
    kind: 'embedding',
    source: 'hf:zeroentropy/zembed-1-embedding',
    license: 'Apache-2.0',
    runs_in: 'service',
    dimensions: 2560,
    tokens: 16_384,
    ...unknownFacts,
    files: [],
  },
  {
    name: 'zerank-2',
    kind: 'reranker',
    source: 'hf:zeroentropy/zerank-2-reranker',
    license: 'Apache-2.0',
    runs_in: 'service',
    dimensions: null,
    tokens: 8_192,
    ...unknownFacts,
    files: [],
  },
  ...['zerank-1', 'zerank-1-small'].map(
    (name): CatalogModel => ({
      name,
      kind: 'reranker',
      source: `hf:zeroentropy/${name}-reranker`,
      license: 'Apache-2.0',
      runs_in: 'service',
      dimensions: null,
      tokens: null,
      ...unknownFacts,
      files: [],
    }),
  ),
];

const validate = compileValidator(Type.Array(CatalogModel, { maxItems: modelsMax }), ['models']);

/** Reads a catalog of the user: a JSON list of models. Errors: AppError that names the file and the first problem. */
export async function readCatalog(path: string): Promise<readonly CatalogModel[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (!hasErrorCode(cause, 'ENOENT', 'EACCES', 'EISDIR')) throw cause;
    throw new AppError('not_found', `${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  if (text.length > catalogBytesMax)
    throw new AppError('too_large', `${path} is larger than ${catalogBytesMax} bytes.`);
  try {
    const models = validate(JSON.parse(text));
    for (const model of models) checkPins(model);
    return models;
  } catch (cause) {
    const reason = (cause as Error).message.replace(/\.$/, '');
    throw new AppError('invalid', `${path} is not a valid catalog: ${reason}.`, { cause });
  }
}

/** Hashes of files are valid for one commit only. Errors: Error. */
function checkPins({ name, files, revision, graph }: CatalogModel): void {
  if (files.length > 0 && revision === null) throw new Error(`${name} has files but no revision`);
  const paths = [...files.map(({ path }) => path), ...(graph === null ? [] : [graph])];
  const unsafe = paths.find((path) => !isSafePath(path));
  if (unsafe !== undefined) throw new Error(`${name} has the invalid path ${JSON.stringify(unsafe)}`);
}

/** Returns the models that contain each word, in any of their texts. */
export function searchCatalog(
  models: readonly CatalogModel[],
  words: readonly string[],
): readonly CatalogModel[] {
  return models.filter((model) => {
    const { name, kind, source, license, languages, runs_in } = model;
    const text = [name, kind, source, license, ...(languages ?? []), runs_in].join(' ').toLowerCase();
    return words.every((word) => text.includes(word.toLowerCase()));
  });
}

/** Returns the model with this name. Errors: 404 that lists the names. */
export function getCatalogModel(models: readonly CatalogModel[], name: string): CatalogModel {
  const model = models.find((candidate) => candidate.name === name);
  if (model !== undefined) return model;
  const names = models.map((candidate) => candidate.name).join(', ');
  throw new AppError(
    'not_found',
    `No model of the catalog is named ${JSON.stringify(name)}. Models: ${names}. For any repository of the hub, use hf:organization/name@revision.`,
  );
}
