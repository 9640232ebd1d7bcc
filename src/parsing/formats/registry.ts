import { parsePdf } from '../pdf/pdf.ts';
import { isPdf } from '../pdf/pdf-detection.ts';
import type { Format } from './format.ts';
import { type ImageKind, parseImage } from './image/image.ts';
import { parseDoc } from './legacy/doc.ts';
import { parsePpt } from './legacy/ppt.ts';
import { isRtf, parseRtf } from './legacy/rtf.ts';
import { parseXls } from './legacy/xls.ts';
import { parseEml } from './mail/eml.ts';
import { isMail } from './mail/mail-detection.ts';
import { parseMsg } from './mail/msg.ts';
import { parseDocx } from './office/docx.ts';
import { parseWithOfficeFallback, parseWithOfficePages } from './office/office-pages.ts';
import { parsePptx } from './office/pptx.ts';
import { parseXlsx } from './office/xlsx.ts';
import { parseOds } from './opendocument/ods.ts';
import { isOpenDocument } from './opendocument/open-document.ts';
import { parseOpenDocumentText } from './opendocument/open-document-text.ts';
import { imagePages, officePages, pdfPages } from './page-renderers.ts';
import { isTable, parseDelimited } from './text/delimited.ts';
import { isJson } from './text/json.ts';
import { isMarkdown, parseMarkdown } from './text/markdown.ts';
import { isNotebook, parseNotebook } from './text/notebook.ts';
import { parsePlainText } from './text/plain-text.ts';
import { isEpub, parseEpub } from './web/epub.ts';
import { parseHtml } from './web/html.ts';
import { isHtml, isXhtml, isXml } from './web/markup.ts';

const openXml = 'application/vnd.openxmlformats-officedocument';
const openDocument = 'application/vnd.oasis.opendocument';

/**
 * All formats. Detection, parsing, page images and docs/reference/formats.md are derived from this table.
 * Within a container, the first format that recognizes a file wins.
 */
export const formats: readonly Format[] = [
  {
    kind: 'pdf',
    extensions: ['pdf'],
    mediaType: 'application/pdf',
    container: 'none',
    detect: isPdf,
    parse: parsePdf,
    pageImages: pdfPages,
  },
  imageFormat('png', ['png'], /^89504e470d0a1a0a/),
  imageFormat('jpeg', ['jpg', 'jpeg'], /^ffd8ff/),
  imageFormat('webp', ['webp'], /^52494646.{8}57454250/),
  imageFormat('gif', ['gif'], /^474946383[79]61/),
  imageFormat('tiff', ['tif', 'tiff'], /^(?:4949(?:2a|2b)00|4d4d00(?:2a|2b))/),
  // The size of the second header distinguishes a bitmap from a text that starts with the same two letters.
  imageFormat('bmp', ['bmp', 'dib'], /^424d.{8}00000000.{8}(?:0c|28|34|38|40|6c|7c)000000/),
  // ftyp, then heic, heix, heim, heis, hevc, mif1 or msf1
  imageFormat(
    'heic',
    ['heic', 'heif'],
    /^000000..66747970(?:686569(?:63|78|6d|73)|68657663|6d696631|6d736631)/,
  ),
  {
    kind: 'rtf',
    extensions: ['rtf'],
    mediaType: 'application/rtf',
    container: 'none',
    detect: isRtf,
    parse: (bytes, context) => parseWithOfficePages('rtf', () => parseRtf(bytes, context.limits), context),
    pageImages: officePages('rtf'),
  },
  {
    kind: 'eml',
    extensions: ['eml'],
    mediaType: 'message/rfc822',
    container: 'none',
    detect: isMail,
    parse: parseEml,
  },
  {
    kind: 'docx',
    extensions: ['docx', 'docm', 'dotx'],
    mediaType: `${openXml}.wordprocessingml.document`,
    container: 'office',
    detect: ({ root }) => root === 'document',
    parse: (file, context) => parseWithOfficePages('docx', () => parseDocx(file, context.limits), context),
    pageImages: officePages('docx'),
  },
  {
    kind: 'pptx',
    extensions: ['pptx', 'pptm', 'ppsx', 'potx'],
    mediaType: `${openXml}.presentationml.presentation`,
    container: 'office',
    detect: ({ root }) => root === 'presentation',
    parse: parsePptx,
    pageImages: officePages('pptx'),
  },
  {
    kind: 'xlsx',
    extensions: ['xlsx', 'xlsm', 'xltx'],
    mediaType: `${openXml}.spreadsheetml.sheet`,
    container: 'office',
    detect: ({ root }) => root === 'workbook',
    parse: parseXlsx,
    hasRows: true,
  },
  {
    kind: 'odt',
    extensions: ['odt'],
    mediaType: `${openDocument}.text`,
    container: 'opendocument',
    detect: (file) => isOpenDocument(file, 'text'),
    parse: ({ archive }, context) =>
      parseWithOfficePages('odt', () => parseOpenDocumentText(archive, 'odt', context.limits), context),
    pageImages: officePages('odt'),
  },
  {
    kind: 'odp',
    extensions: ['odp'],
    mediaType: `${openDocument}.presentation`,
    container: 'opendocument',
    detect: (file) => isOpenDocument(file, 'presentation'),
    parse: ({ archive }, { limits }) => parseOpenDocumentText(archive, 'odp', limits),
    pageImages: officePages('odp'),
  },
  {
    kind: 'ods',
    extensions: ['ods'],
    mediaType: `${openDocument}.spreadsheet`,
    container: 'opendocument',
    detect: (file) => isOpenDocument(file, 'spreadsheet'),
    parse: parseOds,
    hasRows: true,
  },
  {
    kind: 'epub',
    extensions: ['epub'],
    mediaType: 'application/epub+zip',
    container: 'zip',
    detect: isEpub,
    parse: parseEpub,
  },
  {
    kind: 'doc',
    extensions: ['doc', 'dot'],
    mediaType: 'application/msword',
    container: 'compound',
    detect: (file) => file.hasName(/^WordDocument$/),
    parse: (file, context) => parseWithOfficePages('doc', () => parseDoc(file, context.limits), context),
    pageImages: officePages('doc'),
  },
  {
    kind: 'xls',
    extensions: ['xls', 'xlt'],
    mediaType: 'application/vnd.ms-excel',
    container: 'compound',
    detect: (file) => file.hasName(/^(Workbook|Book)$/),
    parse: parseXls,
    hasRows: true,
  },
  {
    kind: 'ppt',
    extensions: ['ppt', 'pps'],
    mediaType: 'application/vnd.ms-powerpoint',
    container: 'compound',
    detect: (file) => file.hasName(/^PowerPoint Document$/),
    parse: (file, context) => parseWithOfficeFallback('ppt', () => parsePpt(file, context.limits), context),
    pageImages: officePages('ppt'),
  },
  {
    kind: 'msg',
    extensions: ['msg'],
    mediaType: 'application/vnd.ms-outlook',
    container: 'compound',
    detect: (file) => file.hasName(/^__substg1\.0_|^__properties_version1\.0$/),
    parse: parseMsg,
  },
  {
    kind: 'xhtml',
    extensions: ['xhtml', 'xht'],
    mediaType: 'application/xhtml+xml',
    container: 'markup',
    detect: isXhtml,
    parse: parseHtml,
  },
  {
    kind: 'xml',
    extensions: ['xml'],
    mediaType: 'application/xml',
    container: 'markup',
    detect: isXml,
    parse: parsePlainText,
  },
  {
    kind: 'html',
    extensions: ['html', 'htm', 'shtml', 'xhtml', 'xht'],
    mediaType: 'text/html',
    container: 'markup',
    detect: isHtml,
    parse: parseHtml,
  },
  {
    kind: 'notebook',
    extensions: ['ipynb'],
    mediaType: 'application/x-ipynb+json',
    container: 'text',
    detect: ({ text }) => isNotebook(text),
    parse: parseNotebook,
    isCondensed: true,
  },
  {
    kind: 'json',
    extensions: ['json'],
    mediaType: 'application/json',
    container: 'text',
    detect: ({ text }) => isJson(text),
    parse: parsePlainText,
  },
  {
    kind: 'code',
    // Invalid JSON is shown as source code.
    extensions: (
      'asm awk bash bat c cc clj cmake cmd cpp cs css cxx dart diff ex exs f90 fs go gradle groovy h hpp hs ini ipynb java ' +
      'jl js json jsonl jsx kt less lisp lua m mk mjs ml mm patch php pl pm proto ps1 py r rb rs scala scss sh sql svelte ' +
      'swift tcl tf toml ts tsx v vb vim vue yaml yml zig zsh'
    ).split(' '),
    mediaType: 'text/plain',
    container: 'text',
    detect: (_text, isNamed) => isNamed,
    parse: parsePlainText,
  },
  {
    kind: 'csv',
    extensions: ['csv'],
    mediaType: 'text/csv',
    container: 'text',
    isDecidedByExtension: true,
    detect: (text) => isTable(text, ',', 3) || isTable(text, ';', 3),
    parse: (text, context) => parseDelimited(text, null, context),
    hasRows: true,
    isCondensed: true,
  },
  {
    kind: 'tsv',
    extensions: ['tsv', 'tab'],
    mediaType: 'text/tab-separated-values',
    container: 'text',
    isDecidedByExtension: true,
    detect: (text) => isTable(text, '\t', 2),
    parse: (text, context) => parseDelimited(text, '\t', context),
    hasRows: true,
    isCondensed: true,
  },
  {
    kind: 'markdown',
    extensions: ['md', 'markdown', 'mdown', 'mkd', 'mkdn', 'mdx', 'rmd', 'qmd'],
    mediaType: 'text/markdown',
    container: 'text',
    isDecidedByExtension: true,
    detect: isMarkdown,
    parse: parseMarkdown,
  },
  {
    kind: 'text',
    extensions: ['txt', 'text', 'log', 'rst', 'adoc', 'asciidoc', 'org', 'tex', 'srt', 'vtt', 'nfo'],
    mediaType: 'text/plain',
    container: 'text',
    isDecidedByExtension: true,
    detect: () => true,
    parse: parsePlainText,
  },
];

function imageFormat(kind: ImageKind, extensions: readonly string[], signature: RegExp): Format {
  return {
    kind,
    extensions,
    mediaType: `image/${kind}`,
    container: 'none',
    detect: (file) => file.matches(signature),
    parse: (bytes, context) => parseImage(bytes, kind, context),
    pageImages: imagePages(kind),
  };
}
