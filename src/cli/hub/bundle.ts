import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createTarDecoder, createTarPacker, type ParsedTarEntry } from 'modern-tar';
import { AppError } from '../../core/app-error.ts';
import { type Static, Type } from '../../schemas/typebox.ts';
import { compileValidator } from '../../schemas/validate.ts';
import { CatalogFile } from './catalog.ts';
import { checkFreeSpace, whileDiskHasSpace } from './disk-space.ts';
import { isSafePath } from './file-names.ts';
import { hashFile } from './hash-file.ts';
import type { DownloadPlan } from './select-files.ts';

/** A model as one tar file, for machines without internet: a manifest, then the files that it lists. */

const manifestName = 'quarry-bundle.json';
const manifestBytesMax = 1_048_576;

const BundleManifest = Type.Object({
  format: Type.Literal(1),
  /** Default name of the model. */
  name: Type.String({ maxLength: 100 }),
  /** `hf:organization/name@commit`. */
  source: Type.String({ maxLength: 300 }),
  license: Type.Union([Type.String({ maxLength: 100 }), Type.Null()]),
  graph: Type.String({ maxLength: 255 }),
  files: Type.Array(CatalogFile, { minItems: 1, maxItems: 64 }),
});
export type BundleManifest = Static<typeof BundleManifest>;

const validate = compileValidator(BundleManifest, ['manifest']);

/** Writes the downloaded files of a plan. The bundle gets its name when it is complete. Errors: AppError. */
export async function writeBundle(
  path: string,
  { folder, name, plan }: { readonly folder: string; readonly name: string; readonly plan: DownloadPlan },
): Promise<BundleManifest> {
  const files: CatalogFile[] = [];
  for (const file of plan.files) {
    const sha256 = await hashFile(join(folder, file.path), 'sha256', file.bytes);
    files.push({ path: file.path, bytes: file.bytes, sha256 });
  }
  const source = `hf:${plan.repository}@${plan.commit}`;
  const manifest = { format: 1, name, source, license: plan.license, graph: plan.graph, files } as const;
  const { readable, controller } = createTarPacker();
  const write = async () => {
    const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
    await pipeline(Readable.from([text]), createEntry(manifestName, text.length));
    for (const file of files)
      await pipeline(createReadStream(join(folder, file.path)), createEntry(file.path, file.bytes));
    controller.finalize();
  };
  // The same files give the same bytes.
  const createEntry = (entry: string, size: number) =>
    Writable.fromWeb(controller.add({ name: entry, size, mtime: new Date(0), mode: 0o644 }));
  const part = `${path}.part`;
  await whileDiskHasSpace(path, async () => {
    try {
      await Promise.all([write(), pipeline(Readable.fromWeb(readable), createWriteStream(part))]);
      await rename(part, path);
    } finally {
      await rm(part, { force: true });
    }
  });
  return manifest;
}

/**
 * Extracts a bundle into an empty folder. Errors: AppError for a file that is no bundle, is incomplete, or has other
 * files than its manifest.
 */
export async function extractBundle(path: string, folder: string): Promise<BundleManifest> {
  const decoder = createTarDecoder({ strict: true });
  const source = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
  const entries = source.pipeThrough(decoder).values();
  try {
    const manifest = await readManifest((await entries.next()).value);
    await checkFreeSpace(
      folder,
      manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    const missing = new Map(manifest.files.map((file) => [file.path, file]));
    for (;;) {
      const { value: entry, done } = await entries.next();
      if (done === true) break;
      await extractEntry(entry, missing, folder);
    }
    const [absent] = missing.keys();
    if (absent !== undefined) throw new Error(`${absent} is missing`);
    return manifest;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const reason = (cause as Error).message.replace(/\.$/, '');
    throw new AppError('invalid', `${path} is not a valid model bundle: ${reason}.`, { cause });
  } finally {
    await entries.return?.().catch(() => undefined);
  }
}

async function readManifest(entry: ParsedTarEntry | undefined): Promise<BundleManifest> {
  if (entry?.header.name !== manifestName || entry.header.size > manifestBytesMax)
    throw new Error(`it does not start with ${manifestName}`);
  const manifest = validate(JSON.parse(await new Response(entry.body).text()));
  const paths = [manifest.graph, ...manifest.files.map((file) => file.path)];
  const unsafe = paths.find((each) => !isSafePath(each));
  if (unsafe !== undefined) throw new Error(`it has the invalid path ${JSON.stringify(unsafe)}`);
  if (new Set(paths).size !== manifest.files.length) throw new Error('its manifest lists a file twice');
  return manifest;
}

async function extractEntry(
  { header, body }: ParsedTarEntry,
  missing: Map<string, CatalogFile>,
  folder: string,
): Promise<void> {
  const file = missing.get(header.name);
  if (file === undefined || (header.type ?? 'file') !== 'file')
    throw new Error(`${JSON.stringify(header.name)} is not a file of the manifest`);
  if (header.size !== file.bytes)
    throw new Error(`${file.path} has ${header.size} bytes instead of ${file.bytes}`);
  const target = join(folder, file.path);
  await mkdir(dirname(target), { recursive: true });
  const hash = createHash('sha256');
  await whileDiskHasSpace(target, () =>
    pipeline(
      Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]),
      async function* (parts: AsyncIterable<Buffer>) {
        for await (const part of parts) {
          hash.update(part);
          yield part;
        }
      },
      createWriteStream(target, { flags: 'wx' }),
    ),
  );
  if (hash.digest('hex') !== file.sha256)
    throw new Error(`the SHA-256 of ${file.path} differs from the manifest`);
  missing.delete(file.path);
}
