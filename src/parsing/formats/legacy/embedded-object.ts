import type { ParseLimits } from '../../limits.ts';
import type { TextBudget } from '../../text-budget.ts';
import { ZipArchive } from '../../zip.ts';
import { openPart } from '../office/office-package.ts';
import { readOpenDocumentObjectLines } from '../opendocument/open-document-objects.ts';
import { readEmbeddedWorkbookLines } from './xls.ts';

/** The streams of what another program has put into a Word or PowerPoint file of 97-2003. */
export interface EmbeddedObject {
  read(name: string): Uint8Array | null;
}

/** Where LibreOffice keeps its own charts: an OpenDocument package. */
const openDocumentStream = 'package_stream';

/**
 * What a chart or a table says that Excel, Microsoft Graph or LibreOffice made; of what other programs made there is only a
 * picture. Throws `corrupt` and `encrypted`.
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
