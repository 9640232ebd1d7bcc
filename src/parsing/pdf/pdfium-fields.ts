import type { Box } from './pdfium-glyphs.ts';
import { allocateLatin1, type Pdfium, readUtf16 } from './pdfium-library.ts';

/** FPDF_ANNOT_FREETEXT and FPDF_ANNOT_WIDGET, and the flag for hidden annotations. */
const freeText = 3;
const widget = 20;
const hiddenFlag = 2;
const annotationsMax = 2_000;
const fieldUnitsMax = 20_000;

export interface FormField {
  readonly text: string;
  readonly box: Box;
}

/** Returns the values of form fields, and the notes written on a page. */
export function readFields(pdfium: Pdfium, page: number): FormField[] {
  const api = pdfium.wasmExports;
  const fields: FormField[] = [];
  const count = Math.min(api.FPDFPage_GetAnnotCount(page), annotationsMax);
  for (let i = 0; i < count; i++) {
    const annotation = api.FPDFPage_GetAnnot(page, i);
    if (annotation === 0) continue;
    const field = readField(pdfium, annotation);
    if (field !== null) fields.push(field);
    api.FPDFPage_CloseAnnot(annotation);
  }
  return fields;
}

/** Returns null for other annotations, hidden and empty ones, and buttons. */
function readField(pdfium: Pdfium, annotation: number): FormField | null {
  const { scratch, wasmExports: api } = pdfium;
  const subtype = api.FPDFAnnot_GetSubtype(annotation);
  if (subtype !== widget && subtype !== freeText) return null;
  if ((api.FPDFAnnot_GetFlags(annotation) & hiddenFlag) !== 0) return null;
  if (readAnnotationText(pdfium, annotation, 'FT') === 'Btn') return null;
  const text = readAnnotationText(pdfium, annotation, subtype === widget ? 'V' : 'Contents');
  if (text.trim() === '' || api.FPDFAnnot_GetRect(annotation, scratch) === 0) return null;
  const [left = 0, top = 0, right = 0, bottom = 0] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
  return { text, box: { left, right, bottom, top } };
}

function readAnnotationText(pdfium: Pdfium, annotation: number, key: string): string {
  const api = pdfium.wasmExports;
  const name = allocateLatin1(pdfium, key);
  try {
    const length = api.FPDFAnnot_GetStringValue(annotation, name, 0, 0);
    if (length <= 2 || length > 2 * fieldUnitsMax) return '';
    return readUtf16(pdfium, length, (buffer) =>
      api.FPDFAnnot_GetStringValue(annotation, name, buffer, length),
    );
  } finally {
    api.free(name);
  }
}
