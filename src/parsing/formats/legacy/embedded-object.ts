import type { ParseLimits } from '../../limits.ts';
import type { TextBudget } from '../../text-budget.ts';
import { ZipArchive } from '../../zip.ts';
import { openPart } from '../office/office-package.ts';
import { readOpenDocumentObjectLines } from '../opendocument/open-document-objects.ts';
import { readEmbeddedWorkbookLines } from './xls.ts';

/** Streams of an object embedded by another program in a Word or PowerPoint 97-2003 file. */
export interface EmbeddedObject {
  read(name: string): Uint8Array | null;
}

/** Stream in which LibreOffice stores its own charts: an OpenDocument package. */
const openDocumentStream = 'package_stream';

/**
 * Returns the text of a chart or table made with Excel, Microsoft Graph or LibreOffice; objects of other
 * programs contain only a picture. Errors: `corrupt` and `encrypted`.
 */
export function readEmbeddedObjectLines(
  object: EmbeddedObject,
  limits: ParseLimits,
  budget: TextBudget,
): string[] {
  const openDocument = object.read(openDocumentStream);
  if (openDocument === null) return readEmbeddedWorkbookLines(object, limits, budget);
  const archive = new ZipArchive(openDocument, limits);
  return readOpenDocumentObjectLines(openPart(archive, 'content.xml', limits), budget);
}
