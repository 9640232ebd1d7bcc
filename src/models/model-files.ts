import { open, readdir, realpath, stat, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';

/** Files of a folder that define a model. */
export interface ModelFiles {
  readonly graph: string;
  readonly layers?: readonly { readonly file: string }[];
}

/**
 * Maximum bytes of a graph that are scanned for names of weight files; a graph that contains its weights
 * names none.
 */
const graphScanBytesMax = 256 * 1_048_576;
const lfsPointerBytesMax = 1_024;

/** Lists the files of a model: configuration, tokenizer, graph, separate weight files and layers. */
export async function listModelFiles(folder: string, { graph, layers = [] }: ModelFiles): Promise<string[]> {
  const part = dirname(graph);
  const inPart = (name: string) => join(part, name);
  const name = graph.slice(part === '.' ? 0 : part.length + 1);
  const stem = name.replace(/\.onnx$/, '');
  const siblings = (await listNames(join(folder, part))).filter(
    (other) =>
      other === name ||
      other.startsWith(`${name}_`) ||
      other.startsWith(`${name}.`) ||
      other === `${stem}.bin`,
  );
  const weights = await findWeightFiles(join(folder, graph));
  const all = [
    'config.json',
    'tokenizer.json',
    'tokenizer_config.json',
    ...siblings.map(inPart),
    ...weights.map(inPart),
    ...layers.map(({ file }) => file),
  ];
  const sizes = await Promise.all(all.map((file) => getFileSize(join(folder, file))));
  return [...new Set(all.filter((_, i) => sizes[i] !== null))];
}

/**
 * Checks that all files of a model can be copied. Errors: AppError with a remedy if a file is missing, is a
 * Git LFS pointer, or is outside of the folder.
 */
export async function checkModelFiles(folder: string, model: ModelFiles): Promise<void> {
  const path = join(folder, model.graph);
  await checkLfsPointer(path);
  for (const file of await findWeightFiles(path)) {
    if (file.startsWith('/') || file.split('/').includes('..'))
      throw new AppError(
        'invalid',
        `${path} stores its weights in ${JSON.stringify(file)}, outside the model folder. Export the model again.`,
      );
    if ((await getFileSize(join(dirname(path), file))) === null)
      throw new AppError(
        'not_found',
        `${join(dirname(path), file)} is missing. ${path} stores its weights there. Download it with the model.`,
      );
    await checkLfsPointer(join(dirname(path), file));
  }
  const modelFolder = await realpath(folder);
  // The Hugging Face cache keeps the files of all revisions of a model in this folder and links to them.
  const cache = join(modelFolder, '..', '..', 'blobs');
  for (const file of await listModelFiles(folder, model)) {
    const real = await realpath(join(folder, file));
    if (real.startsWith(modelFolder + sep) || real.startsWith(cache + sep)) continue;
    throw new AppError(
      'invalid',
      `${join(folder, file)} is a link to ${real}, outside the model folder. Copy the file into the folder.`,
    );
  }
}

/**
 * Checks the size of the files. Errors: AppError if they exceed the free disk space of `target` or the memory
 * of this machine.
 */
export async function checkCapacity(folder: string, model: ModelFiles, target: string): Promise<void> {
  const sizes = await Promise.all(
    (await listModelFiles(folder, model)).map((file) => getFileSize(join(folder, file))),
  );
  const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  const { bavail, bsize } = await statfs(target);
  if (bytes > totalmem())
    throw new AppError(
      'too_large',
      `The model in ${folder} needs ${bytes} bytes, but this machine has ${totalmem()} bytes of memory. Try a quantized variant (--graph).`,
    );
  if (bytes > bavail * bsize)
    throw new AppError(
      'too_large',
      `The model in ${folder} needs ${bytes} bytes, but ${target} has ${bavail * bsize} bytes free. Free disk space first.`,
    );
}

/** Returns the names in a folder; empty if the folder does not exist. */
export async function listNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

async function getFileSize(path: string): Promise<number | null> {
  try {
    const stats = await stat(path);
    return stats.isFile() ? stats.size : null;
  } catch {
    return null;
  }
}

/** Errors: AppError if the file is a Git LFS pointer, that is, the large file itself was not fetched. */
async function checkLfsPointer(path: string): Promise<void> {
  const size = await getFileSize(path);
  if (size === null || size > lfsPointerBytesMax) return;
  const text = (await readHead(path, lfsPointerBytesMax)).toString('latin1');
  if (!text.startsWith('version https://git-lfs')) return;
  throw new AppError('invalid', `${path} is a Git LFS pointer, not the file itself. Run \`git lfs pull\`.`);
}

/**
 * Returns the files beside a graph that contain its weights. The graph refers to each by an entry with the
 * key "location" (ONNX's StringStringEntryProto: field 1 is the key, field 2 the value, both
 * length-prefixed).
 */
async function findWeightFiles(graph: string): Promise<string[]> {
  const bytes = await readHead(graph, graphScanBytesMax);
  const key = Buffer.from('\x0a\x08location\x12', 'latin1');
  const files = new Set<string>();
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.length)) {
    const first = bytes[at + key.length] ?? 0;
    const second = bytes[at + key.length + 1] ?? 0;
    const isLong = first >= 0x80;
    const length = isLong ? (first & 0x7f) | (second << 7) : first;
    const start = at + key.length + (isLong ? 2 : 1);
    files.add(bytes.toString('utf8', start, start + length));
  }
  return [...files];
}

async function readHead(path: string, bytesMax: number): Promise<Buffer> {
  const handle = await open(path).catch(() => null);
  if (handle === null) return Buffer.alloc(0);
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.alloc(Math.min(size, bytesMax));
    await handle.read(bytes, 0, bytes.length, 0);
    return bytes;
  } finally {
    await handle.close();
  }
}
