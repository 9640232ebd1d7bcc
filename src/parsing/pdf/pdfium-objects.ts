import type { Pdfium } from './pdfium-library.ts';

/** FPDF_PAGEOBJ_* of fpdf_edit.h. */
const textObject = 1;
const imageObject = 3;
const formObject = 5;
/** Maximum number of objects examined per page or form, and nesting depth of forms. */
const objectsMax = 10_000;
const formDepthMax = 4;

/** Returns the number of text objects on a page. */
export function countTextObjects({ wasmExports: api }: Pdfium, page: number): number {
  const objects = Math.min(api.FPDFPage_CountObjects(page), objectsMax);
  let texts = 0;
  for (let i = 0; i < objects; i++) {
    if (api.FPDFPageObj_GetType(api.FPDFPage_GetObject(page, i)) === textObject) texts += 1;
  }
  return texts;
}

/** Whether a page has text in a font that the file does not contain. */
export function hasUnembeddedFont({ wasmExports: api }: Pdfium, page: number): boolean {
  const count = Math.min(api.FPDFPage_CountObjects(page), objectsMax);
  for (let i = 0; i < count; i++) {
    const object = api.FPDFPage_GetObject(page, i);
    if (api.FPDFPageObj_GetType(object) !== textObject) continue;
    const font = api.FPDFTextObj_GetFont(object);
    if (font !== 0 && api.FPDFFont_GetIsEmbedded(font) === 0) return true;
  }
  return false;
}

/** Returns the share of a page, 0 to 1, that images cover, including those in forms. */
export function computeImageShare(pdfium: Pdfium, page: number): number {
  const api = pdfium.wasmExports;
  const area = Math.max(1, api.FPDF_GetPageWidthF(page) * api.FPDF_GetPageHeightF(page));
  const count = Math.min(api.FPDFPage_CountObjects(page), objectsMax);
  let covered = 0;
  for (let i = 0; i < count; i++) covered += computeImageArea(pdfium, api.FPDFPage_GetObject(page, i));
  return Math.min(1, covered / area);
}

/**
 * Returns the area of an image object in square points. Images in a form have sizes in the form's own
 * space, so a form that holds an image counts with its whole area: scanners wrap the image of a page in a
 * form.
 */
function computeImageArea(pdfium: Pdfium, object: number): number {
  const type = pdfium.wasmExports.FPDFPageObj_GetType(object);
  const isImage = type === imageObject || (type === formObject && holdsImage(pdfium, object, formDepthMax));
  return isImage ? computeArea(pdfium, object) : 0;
}

function holdsImage(pdfium: Pdfium, form: number, depth: number): boolean {
  const api = pdfium.wasmExports;
  const count = Math.min(api.FPDFFormObj_CountObjects(form), objectsMax);
  for (let i = 0; i < count; i++) {
    const object = api.FPDFFormObj_GetObject(form, i);
    const type = api.FPDFPageObj_GetType(object);
    if (type === imageObject) return true;
    if (type === formObject && depth > 0 && holdsImage(pdfium, object, depth - 1)) return true;
  }
  return false;
}

function computeArea(pdfium: Pdfium, object: number): number {
  const { scratch, wasmExports: api } = pdfium;
  if (api.FPDFPageObj_GetBounds(object, scratch, scratch + 4, scratch + 8, scratch + 12) === 0) return 0;
  const [left, bottom, right, top] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
  return Math.max(0, right! - left!) * Math.max(0, top! - bottom!);
}
