import { detectDocument } from './detect.ts';
import type { ParseContext } from './formats/format.ts';
import type { PageImageOptions } from './formats/page-renderers.ts';

/**
 * Returns the JPEG of one page; null when the document has no page images or no such page. Runs only in the
 * parser process.
 */
export async function renderPageImage(
  bytes: Uint8Array,
  page: number,
  size: PageImageOptions,
  context: ParseContext,
): Promise<Uint8Array | null> {
  const { format } = await detectDocument(bytes, null, context.limits);
  return (await format.pageImages?.render(bytes, page, size, context)) ?? null;
}
