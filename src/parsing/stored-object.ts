import type { ParseLimits } from './limits.ts';
import { openPart } from './office-package.ts';
import { openDocumentObjectLines } from './open-document-objects.ts';
import type { TextBudget } from './text-budget.ts';
import { embeddedWorkbookLines } from './xls.ts';
import { ZipArchive } from './zip.ts';

/** The streams of what another program has put into a Word or PowerPoint file of 97-2003. */
export interface StoredObject {
  read(name: string): Uint8Array | null;
}

/** Where LibreOffice keeps its own charts: an OpenDocument package. */
const openDocumentStream = 'package_stream';

/**
 * What a chart or a table says that Excel, Microsoft Graph or LibreOffice made; of what other programs made there is only a
 * picture. Throws `corrupt` and `encrypted`.
 */
export function storedObjectLines(object: StoredObject, limits: ParseLimits, budget: TextBudget): string[] {
  const openDocument = object.read(openDocumentStream);
  if (openDocument === null) return embeddedWorkbookLines(object, limits, budget);
  const archive = new ZipArchive(openDocument, limits);
  return openDocumentObjectLines(openPart(archive, 'content.xml', limits), budget);
}
