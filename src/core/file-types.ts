/**
 * File types by file name extension: the filter of the documents page, and the syntax in which the text of a file is
 * displayed. A test compares the extensions with those of the format registry. Shared by the dashboard and the command
 * line.
 */

/** `markdown`: a single line break is a space. `prose`: only a line break of the printed page is. */
export type TextSyntax = 'markdown' | 'prose';

interface FileType {
  /** Heading of the type in the dashboard. */
  readonly name: string;
  /** Lower-case extensions without the dot, by syntax. */
  readonly extensions: {
    readonly markdown?: readonly string[];
    readonly prose?: readonly string[];
    /** Every line break has a meaning. */
    readonly lines?: readonly string[];
  };
}

export const fileTypes = {
  pdf: { name: 'PDF', extensions: { prose: ['pdf'] } },
  word: {
    name: 'Word and text documents',
    extensions: { prose: ['docx', 'docm', 'dotx', 'doc', 'dot', 'odt', 'rtf'] },
  },
  sheet: {
    name: 'Spreadsheets',
    extensions: { prose: ['xlsx', 'xlsm', 'xltx', 'xls', 'xlt', 'ods'], lines: ['csv', 'tsv', 'tab'] },
  },
  slides: {
    name: 'Presentations',
    extensions: { prose: ['pptx', 'pptm', 'ppsx', 'potx', 'ppt', 'pps', 'odp'] },
  },
  text: {
    name: 'Text and Markdown',
    extensions: {
      // The text of a notebook is Markdown.
      markdown: ['md', 'markdown', 'mdown', 'mkd', 'mkdn', 'mdx', 'rmd', 'qmd', 'ipynb'],
      prose: ['txt', 'text'],
      lines: ['log', 'rst', 'adoc', 'asciidoc', 'org', 'tex', 'srt', 'vtt', 'nfo'],
    },
  },
  web: { name: 'Web pages', extensions: { prose: ['html', 'htm', 'shtml', 'xhtml', 'xht'] } },
  mail: { name: 'Email', extensions: { prose: ['eml', 'msg'] } },
  image: {
    name: 'Images',
    extensions: {
      prose: ['png', 'jpg', 'jpeg', 'tif', 'tiff', 'webp', 'gif', 'bmp', 'dib', 'heic', 'heif'],
    },
  },
  data: { name: 'Data', extensions: { lines: ['json', 'jsonl', 'xml', 'yaml', 'yml', 'toml'] } },
  book: { name: 'E-books', extensions: { prose: ['epub'] } },
} as const satisfies Readonly<Record<string, FileType>>;

export type FileTypeName = keyof typeof fileTypes;

const allTypes: readonly FileType[] = Object.values(fileTypes);

/** All extensions of a type. */
export function extensionsOf(name: FileTypeName): string[] {
  return Object.values<readonly string[]>(fileTypes[name].extensions).flat();
}

/**
 * Syntax of the text of a document; null if its line breaks have a meaning, as in code. A path without an extension is
 * prose.
 */
export function textSyntaxOf(path: string): TextSyntax | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (!name.includes('.')) return 'prose';
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  for (const { extensions } of allTypes) {
    if (extensions.markdown?.includes(extension) === true) return 'markdown';
    if (extensions.prose?.includes(extension) === true) return 'prose';
  }
  return null;
}

/** Types whose files have no page images. */
const typesWithoutImages: readonly FileTypeName[] = ['sheet', 'text', 'web', 'mail', 'data', 'book'];
const extensionsWithoutImages = new Set(typesWithoutImages.flatMap(extensionsOf));

/** Whether the pages of a document may have images. Files without a known type may have any content. */
export function mayHavePageImages(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (!name.includes('.')) return true;
  return !extensionsWithoutImages.has(name.slice(name.lastIndexOf('.') + 1).toLowerCase());
}
