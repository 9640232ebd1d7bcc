import type { Raster } from '../formats/image/raster.ts';
import type { Pdfium } from './pdfium-library.ts';

const bgraFormat = 4;
/** FPDF_ANNOT | FPDF_REVERSE_BYTE_ORDER: annotations drawn, bytes in RGBA order. */
const renderFlags = 0x01 | 0x10;
const formFlags = 0x10;
/** Size of the callback table of the form environment, all zero: version 2 and no callbacks. */
const formEnvironmentBytes = 512;

/** An open page of an open document, by their PDFium handles. */
interface OpenPage {
  readonly document: number;
  readonly page: number;
}

/** Draws a page with its annotations and form fields on white; `width` and `height` in pixels. */
export function drawPage(
  pdfium: Pdfium,
  open: OpenPage,
  { width, height }: { readonly width: number; readonly height: number },
): Raster {
  const api = pdfium.wasmExports;
  const size = width * height * 4;
  const buffer = api.malloc(size);
  if (buffer === 0) throw new RangeError('PDFium has no memory for the image');
  const bitmap = api.FPDFBitmap_CreateEx(width, height, bgraFormat, buffer, width * 4);
  try {
    api.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xffffffff);
    api.FPDF_RenderPageBitmap(bitmap, open.page, 0, 0, width, height, 0, renderFlags);
    drawForm(pdfium, open, (form) =>
      api.FPDF_FFLDraw(form, bitmap, open.page, 0, 0, width, height, 0, formFlags),
    );
    return { width, height, pixels: pdfium.HEAPU8.slice(buffer, buffer + size) };
  } finally {
    api.FPDFBitmap_Destroy(bitmap);
    api.free(buffer);
  }
}

function drawForm(pdfium: Pdfium, { document, page }: OpenPage, draw: (form: number) => void): void {
  const api = pdfium.wasmExports;
  const callbacks = api.malloc(formEnvironmentBytes);
  pdfium.HEAPU8.fill(0, callbacks, callbacks + formEnvironmentBytes);
  pdfium.HEAPU8[callbacks] = 2;
  const form = api.FPDFDOC_InitFormFillEnvironment(document, callbacks);
  if (form !== 0) {
    api.FORM_OnAfterLoadPage(page, form);
    draw(form);
    api.FORM_OnBeforeClosePage(page, form);
    api.FPDFDOC_ExitFormFillEnvironment(form);
  }
  api.free(callbacks);
}
