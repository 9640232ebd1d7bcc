import type { ParseLimits } from '../limits.ts';
import { measureUnembeddedCjkPage, renderPdfPage } from '../pdf/pdf-page-images.ts';
import type { PageImageAvailability } from '../process/parse-task.ts';
import type { OfficeExtension } from '../tools/document-tools.ts';
import { convertOfficeDocument } from '../tools/office-conversion.ts';
import type { ParseContext } from './format.ts';
import { type ImageKind, openImage } from './image/image.ts';
import { readImageInfo, toJpeg } from './image/raster.ts';

export interface PageImageOptions {
  readonly widthMax: number;
  readonly dotsPerInch: number;
  /** JPEG quality 1..100. */
  readonly quality: number;
}

const pointsPerInch = 72;

/** Renders page images of a format. */
export interface PageRenderer {
  readonly available: PageImageAvailability;
  /** Returns the JPEG of one page; null when the document has no such page. */
  readonly render: (
    bytes: Uint8Array,
    page: number,
    size: PageImageOptions,
    context: ParseContext,
  ) => Promise<Uint8Array | null>;
}

export const pdfPages: PageRenderer = {
  available: 'always',
  render: async (bytes, page, size, context) =>
    (await renderWithHostFonts(bytes, page, size, context)) ?? renderPdf(bytes, page, size, context.limits),
};

/** Pages of the PDF to which LibreOffice converts the file. */
export function officePages(from: OfficeExtension): PageRenderer {
  return {
    available: 'with-office',
    render: async (_bytes, page, size, context) => {
      const converted = await convertOfficeDocument(from, 'pdf', context.tools);
      return converted instanceof Uint8Array ? renderPdf(converted, page, size, context.limits) : null;
    },
  };
}

export function imagePages(kind: ImageKind): PageRenderer {
  return {
    available: 'always',
    render: (bytes, page, size, context) => renderImage(bytes, kind, { page, size, context }),
  };
}

async function renderPdf(
  bytes: Uint8Array,
  page: number,
  size: PageImageOptions,
  limits: ParseLimits,
): Promise<Uint8Array | null> {
  const scaleOf = (width: number, height: number) => computeScale(width, height, size, limits);
  const raster = await renderPdfPage(bytes, page, { limits, scaleOf });
  return raster === null ? null : toJpeg({ raster }, { quality: size.quality });
}

/**
 * Renders with poppler, which uses the fonts of the host: PDFium has only the fonts of the file, so it leaves
 * CJK characters without an embedded font blank. Null when this is not needed or not available.
 */
async function renderWithHostFonts(
  bytes: Uint8Array,
  page: number,
  size: PageImageOptions,
  { limits, tools }: ParseContext,
): Promise<Uint8Array | null> {
  const box = await measureUnembeddedCjkPage(bytes, page);
  if (box === null) return null;
  const scale = computeScale(box.width, box.height, size, limits);
  const reply = await tools.request({ kind: 'draw', page, dotsPerInch: scale * pointsPerInch });
  if (reply.kind !== 'bytes') return null;
  return toJpeg({ bytes: reply.bytes, pixelsMax: limits.imageInputPixelsMax }, { quality: size.quality });
}

/** Images are rendered upright and never enlarged. */
async function renderImage(
  bytes: Uint8Array,
  kind: ImageKind,
  options: { readonly page: number; readonly size: PageImageOptions; readonly context: ParseContext },
): Promise<Uint8Array | null> {
  const { page, size, context } = options;
  const { source, info } = await openImage(bytes, kind, context);
  if (page < 0 || page >= (kind === 'tiff' ? info.pages : 1)) return null;
  const { width, height } = (await readImageInfo(source, page)) ?? info;
  const { imageSideMax, imagePixelsMax } = context.limits;
  const side = Math.max(width, height);
  const longest = Math.min(side, imageSideMax, side * Math.sqrt(imagePixelsMax / (width * height)));
  const box = { width: Math.round(Math.min(longest, size.widthMax)), height: Math.round(longest) };
  return toJpeg(source, { page, size: box, quality: size.quality });
}

/**
 * Returns pixels per point: the requested resolution, reduced when the page would be too wide, too long or
 * too large.
 */
export function computeScale(
  width: number,
  height: number,
  size: PageImageOptions,
  limits: ParseLimits,
): number {
  const [w, h] = [Math.max(width, 1), Math.max(height, 1)];
  return Math.min(
    size.dotsPerInch / pointsPerInch,
    size.widthMax / w,
    limits.imageSideMax / Math.max(w, h),
    Math.sqrt(limits.imagePixelsMax / (w * h)),
  );
}
