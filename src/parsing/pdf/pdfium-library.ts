import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PDFiumModule } from '@hyzyla/pdfium';

/**
 * The only module that uses PDFium. It calls the WebAssembly exports directly, because the wrapper's text
 * call has no character boxes and its debug layer adds cost to every call.
 */
interface PdfiumExports {
  malloc(size: number): number;
  free(pointer: number): void;
  FPDF_InitLibraryWithConfig(config: number): void;
  FPDF_LoadMemDocument(data: number, size: number, password: number): number;
  FPDF_GetLastError(): number;
  FPDF_GetPageCount(document: number): number;
  FPDF_CloseDocument(document: number): void;
  FPDF_GetMetaText(document: number, tag: number, buffer: number, length: number): number;
  FPDF_LoadPage(document: number, index: number): number;
  FPDF_ClosePage(page: number): void;
  FPDFTextObj_GetFont(object: number): number;
  FPDFFont_GetIsEmbedded(font: number): number;
  FPDFPage_CountObjects(page: number): number;
  FPDF_GetPageWidthF(page: number): number;
  FPDF_GetPageHeightF(page: number): number;
  FPDF_GetPageBoundingBox(page: number, rectangle: number): number;
  FPDFPage_GetRotation(page: number): number;
  FPDFPage_GetObject(page: number, index: number): number;
  FPDFFormObj_CountObjects(form: number): number;
  FPDFFormObj_GetObject(form: number, index: number): number;
  FPDFPageObj_GetType(object: number): number;
  FPDFPageObj_GetBounds(object: number, left: number, bottom: number, right: number, top: number): number;
  FPDFText_LoadPage(page: number): number;
  FPDFText_ClosePage(text: number): void;
  FPDFText_CountChars(text: number): number;
  FPDFText_GetUnicode(text: number, index: number): number;
  FPDFText_IsGenerated(text: number, index: number): number;
  FPDFPage_GetAnnotCount(page: number): number;
  FPDFPage_GetAnnot(page: number, index: number): number;
  FPDFPage_CloseAnnot(annotation: number): void;
  FPDFAnnot_GetSubtype(annotation: number): number;
  FPDFAnnot_GetFlags(annotation: number): number;
  FPDFAnnot_GetRect(annotation: number, rectangle: number): number;
  FPDFAnnot_GetStringValue(annotation: number, key: number, buffer: number, length: number): number;
  FPDFText_IsHyphen(text: number, index: number): number;
  FPDFText_GetFontSize(text: number, index: number): number;
  FPDFText_GetMatrix(text: number, index: number, matrix: number): number;
  FPDFText_GetCharOrigin(text: number, index: number, x: number, y: number): number;
  FPDFText_GetCharAngle(text: number, index: number): number;
  FPDFText_GetFontWeight(text: number, index: number): number;
  FPDFText_GetFontInfo(text: number, index: number, buffer: number, length: number, flags: number): number;
  FPDFText_GetLooseCharBox(text: number, index: number, rectangle: number): number;
  FPDFBookmark_GetFirstChild(document: number, bookmark: number): number;
  FPDFBookmark_GetNextSibling(document: number, bookmark: number): number;
  FPDFBookmark_GetTitle(bookmark: number, buffer: number, length: number): number;
  FPDFBookmark_GetDest(document: number, bookmark: number): number;
  FPDFBookmark_GetAction(bookmark: number): number;
  FPDFAction_GetDest(document: number, action: number): number;
  FPDFDest_GetDestPageIndex(document: number, destination: number): number;
  FPDFText_GetCharBox(
    text: number,
    index: number,
    left: number,
    right: number,
    bottom: number,
    top: number,
  ): number;
  FPDFBitmap_CreateEx(width: number, height: number, format: number, buffer: number, stride: number): number;
  FPDFBitmap_FillRect(
    bitmap: number,
    left: number,
    top: number,
    width: number,
    height: number,
    argb: number,
  ): void;
  FPDFBitmap_Destroy(bitmap: number): void;
  FPDF_RenderPageBitmap(
    bitmap: number,
    page: number,
    left: number,
    top: number,
    width: number,
    height: number,
    rotate: number,
    flags: number,
  ): void;
  FPDFDOC_InitFormFillEnvironment(document: number, callbacks: number): number;
  FPDFDOC_ExitFormFillEnvironment(form: number): void;
  FORM_OnAfterLoadPage(page: number, form: number): void;
  FORM_OnBeforeClosePage(page: number, form: number): void;
  FPDF_FFLDraw(
    form: number,
    bitmap: number,
    page: number,
    left: number,
    top: number,
    width: number,
    height: number,
    rotate: number,
    flags: number,
  ): void;
}

export interface Pdfium {
  readonly wasmExports: PdfiumExports;
  /** View of the WebAssembly memory; replaced whenever the memory grows, so never keep it across a call. */
  readonly HEAPU8: Uint8Array;
  /** Address of 32 bytes for results of one call: a rectangle of floats, or four doubles. */
  readonly scratch: number;
}

let loading: Promise<Pdfium> | null = null;

/** Compiles PDFium once per process. */
export function loadPdfium(): Promise<Pdfium> {
  loading ??= instantiate();
  return loading;
}

async function instantiate(): Promise<Pdfium> {
  const wasm = readFileSync(createRequire(import.meta.url).resolve('@hyzyla/pdfium/pdfium.wasm'));
  const wasmBinary = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength) as ArrayBuffer;
  const pdfium = (await PDFiumModule({ wasmBinary })) as unknown as Omit<Pdfium, 'scratch'>;
  const api = pdfium.wasmExports;
  const config = api.malloc(32);
  pdfium.HEAPU8.fill(0, config, config + 32);
  pdfium.HEAPU8[config] = 2;
  api.FPDF_InitLibraryWithConfig(config);
  api.free(config);
  // The module itself gets the address, because it replaces HEAPU8 whenever its memory grows.
  return Object.assign(pdfium, { scratch: api.malloc(32) });
}

/** Returns the address of a string that ends with NUL; the caller frees it. */
export function allocateLatin1(pdfium: Pdfium, text: string): number {
  const pointer = pdfium.wasmExports.malloc(text.length + 1);
  pdfium.HEAPU8.set(Buffer.from(`${text}\0`, 'latin1'), pointer);
  return pointer;
}

/** Returns the UTF-16 text of `length` bytes, including its final NUL, that `fill` writes to an address. */
export function readUtf16(pdfium: Pdfium, length: number, fill: (buffer: number) => void): string {
  const buffer = pdfium.wasmExports.malloc(length);
  fill(buffer);
  const text = new TextDecoder('utf-16le').decode(pdfium.HEAPU8.slice(buffer, buffer + length - 2));
  pdfium.wasmExports.free(buffer);
  return text;
}
