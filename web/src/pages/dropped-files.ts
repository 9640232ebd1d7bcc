import type { Chosen } from './uploads.ts';

/** Files from a picker, from a folder, from what was dropped: each with the path that it gets. */

/** Hidden files of systems and editors, which nobody means. */
const unmeant = /(^|\/)(\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*|~\$[^/]*)$/;

export function fromPicker(files: FileList | null): Chosen[] {
  const all = [...(files ?? [])].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
  return meant(all);
}

/** Walks the folders among what was dropped. Must be called while the event runs; what it returns may come later. */
export function fromDrop(data: DataTransfer): Promise<Chosen[]> {
  const entries = [...data.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  return Promise.all(entries.map(walk)).then((found) => meant(found.flat()));
}

function meant(chosen: readonly Chosen[]): Chosen[] {
  return chosen.filter(({ path }) => !unmeant.test(path));
}

async function walk(entry: FileSystemEntry): Promise<Chosen[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, '') }];
  }
  if (!isFolder(entry)) return [];
  const reader = entry.createReader();
  const found: Chosen[] = [];
  // It hands out some at a time, and none when there are no more.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return found;
    for (const each of some) found.push(...(await walk(each)));
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
