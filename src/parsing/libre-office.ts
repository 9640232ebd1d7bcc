import { copyFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { OfficeSource, ToolReply } from './document-tools.ts';
import type { ToolEnd, ToolRunner } from './tool-runner.ts';

export interface Conversion {
  readonly file: string;
  readonly from: OfficeSource;
  readonly to: 'pdf' | 'xlsx';
  readonly msMax: number;
  readonly signal: AbortSignal;
}

const memoryBytesMax = 2 * 1_073_741_824;
const resultBytesMax = 500_000_000;
/** Room that a run needs for its installation data, and for each byte of the file: a copy of it, its parts, the result. */
const roomBytes = { profile: 64_000_000, eachByte: 4 } as const;

/** Hidden slides stay pages, so that the pages of the PDF are the slides of the file. */
const exportOptions = JSON.stringify({
  ExportHiddenSlides: { type: 'boolean', value: 'true' },
  ExportBookmarks: { type: 'boolean', value: 'true' },
});

const presentations: ReadonlySet<OfficeSource> = new Set(['ppt', 'pptx', 'odp']);
const spreadsheets: ReadonlySet<OfficeSource> = new Set(['xls', 'ods']);

/**
 * Converts a file with LibreOffice and hands the result to `take` before its folder is deleted. Each run has its own folder
 * and so its own installation data: two of them never share one. LibreOffice ends with code 0 also when it could not read
 * the file, or write its result; only a result is a success. Rejects with `NoRoom` when the disk is too full.
 */
export function convertOffice(
  runner: ToolRunner,
  conversion: Conversion,
  take: (result: string) => Promise<ToolReply>,
): Promise<ToolReply> {
  const { file, from, to, msMax, signal } = conversion;
  return runner.withFolder(async (folder) => {
    const room = roomBytes.profile + roomBytes.eachByte * (await stat(file)).size;
    await runner.checkRoom(room);
    const input = join(folder, `document.${from}`);
    await copyFile(file, input);
    const end = await runner.run({
      tool: 'soffice',
      flags: [
        `-env:UserInstallation=file://${encodeURI(join(folder, 'profile'))}`,
        ...['--headless', '--invisible', '--norestore', '--nologo', '--nolockcheck', '--nodefault'],
        ...['--convert-to', filterOf(from, to), '--outdir', join(folder, 'result'), input],
      ],
      folder,
      msMax,
      memoryBytesMax,
      fileBytesMax: resultBytesMax,
      outputBytesMax: 1_000_000,
      signal,
    });
    const result = await resultIn(join(folder, 'result'));
    if (result !== null && end.how === 'exited') return take(result);
    // Others may have filled the disk meanwhile, which is no fault of the file.
    await runner.checkRoom(roomBytes.profile);
    return failureOf(end, conversion);
  });
}

function filterOf(from: OfficeSource, to: 'pdf' | 'xlsx'): string {
  if (to === 'xlsx') return 'xlsx:Calc MS Excel 2007 XML';
  if (presentations.has(from)) return `pdf:impress_pdf_Export:${exportOptions}`;
  if (spreadsheets.has(from)) return 'pdf:calc_pdf_Export';
  return `pdf:writer_pdf_Export:${exportOptions}`;
}

async function resultIn(folder: string): Promise<string | null> {
  try {
    const [name] = await readdir(folder);
    return name === undefined ? null : join(folder, name);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return null;
    throw error;
  }
}

function failureOf(end: ToolEnd, { from, msMax }: Conversion): ToolReply {
  const name = from.toUpperCase();
  switch (end.how) {
    case 'timeout':
      return {
        kind: 'failed',
        code: 'timeout',
        message: `Converting the ${name} file was stopped: LibreOffice took more than ${msMax / 1_000} s.`,
      };
    case 'cancelled':
      return { kind: 'failed', code: 'timeout', message: 'Converting the file was cancelled.' };
    case 'killed':
      return {
        kind: 'failed',
        code: 'crash',
        message: `LibreOffice died while it converted the ${name} file.`,
      };
    case 'exited':
    case 'flooded':
      return {
        kind: 'failed',
        code: 'corrupt',
        message: `LibreOffice cannot read the ${name} file: it is damaged or protected with a password.`,
      };
  }
}
