import type { SelectedFile } from './uploads.ts';

/** Files from a file picker, a folder picker or a drop, each with its path in the collection. */

/** Hidden files of operating systems and editors, which are not meant to be uploaded. */
const hiddenFilePattern = /(^|\/)(\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*|~\$[^/]*)$/;

export function filesFromPicker(files: FileList | null): SelectedFile[] {
  const all = [...(files ?? [])].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
  return withoutHidden(all);
}

/** Walks dropped folders. Call it synchronously in the event handler; the promise may resolve later. */
export function filesFromDrop(data: DataTransfer): Promise<SelectedFile[]> {
  const entries = [...data.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  return Promise.all(entries.map(walk)).then((found) => withoutHidden(found.flat()));
}

function withoutHidden(selected: readonly SelectedFile[]): SelectedFile[] {
  return selected.filter(({ path }) => !hiddenFilePattern.test(path));
}

async function walk(entry: FileSystemEntry): Promise<SelectedFile[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, '') }];
  }
  if (!isFolder(entry)) return [];
  const reader = entry.createReader();
  const found: SelectedFile[] = [];
  // `readEntries` returns entries in batches, and an empty batch at the end.
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (batch.length === 0) return found;
    for (const each of batch) found.push(...(await walk(each)));
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
