import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../../core/error-code.ts';
import type { OfficeExtension, ToolReply } from './document-tools.ts';
import type { ToolExit, ToolRunner } from './tool-runner.ts';

export interface OfficeConversion {
  readonly file: string;
  readonly from: OfficeExtension;
  readonly to: 'pdf' | 'xlsx';
  readonly msMax: number;
  readonly signal: AbortSignal;
}

const memoryBytesMax = 2 * 1_073_741_824;
const resultBytesMax = 500_000_000;
/**
 * Disk space needed per run: for installation data, and per byte of the file (a copy, its parts, the result).
 */
const diskBytesNeeded = { profile: 64_000_000, eachByte: 4 } as const;

/** Hidden slides are exported, so that the pages of the PDF match the slides of the file. */
const exportOptions = JSON.stringify({
  ExportHiddenSlides: { type: 'boolean', value: 'true' },
  ExportBookmarks: { type: 'boolean', value: 'true' },
});

const presentations: ReadonlySet<OfficeExtension> = new Set(['ppt', 'pptx', 'odp']);
const spreadsheets: ReadonlySet<OfficeExtension> = new Set(['xls', 'ods']);

/**
 * Converts a file with LibreOffice and passes the result to `onResult` before its folder is deleted. Each run
 * has its own folder and thus its own installation data, which two runs must not share. LibreOffice also
 * exits with code 0 when it could not read the file or write its result, so success means that a result file
 * exists. Errors: `DiskFullError` when the disk is too full.
 */
export function convertOffice(
  runner: ToolRunner,
  conversion: OfficeConversion,
  onResult: (result: string) => Promise<ToolReply>,
): Promise<ToolReply> {
  const { file, from, to, msMax, signal } = conversion;
  return runner.withTemporaryFolder(async (folder) => {
    const bytesNeeded = diskBytesNeeded.profile + diskBytesNeeded.eachByte * (await stat(file)).size;
    await runner.checkDiskSpace(bytesNeeded);
    const input = join(folder, `document.${from}`);
    await copyFile(file, input);
    await writeSettings(join(folder, 'profile', 'user'));
    const end = await runner.run({
      tool: 'soffice',
      flags: [
        `-env:UserInstallation=file://${encodeURI(join(folder, 'profile'))}`,
        ...['--headless', '--invisible', '--norestore', '--nologo', '--nolockcheck', '--nodefault'],
        ...['--convert-to', getFilter(from, to), '--outdir', join(folder, 'result'), input],
      ],
      folder,
      msMax,
      memoryBytesMax,
      fileBytesMax: resultBytesMax,
      outputBytesMax: 1_000_000,
      signal,
    });
    const result = await findResult(runner, folder);
    if (result !== null && end.outcome === 'exited') return onResult(result);
    // Other processes may have filled the disk meanwhile, which is not a fault of the file.
    await runner.checkDiskSpace(diskBytesNeeded.profile);
    return toFailure(end, conversion);
  });
}

/**
 * Disables links, macros and network access (by a proxy that does not exist), so that documents fetch nothing
 * even on hosts without a sandbox.
 */
const settings: readonly (readonly [path: string, name: string, value: string | number | boolean])[] = [
  ['org.openoffice.Office.Common/Security/Scripting', 'BlockUntrustedRefererLinks', true],
  ['org.openoffice.Office.Common/Security/Scripting', 'DisableMacrosExecution', true],
  ['org.openoffice.Office.Common/Security/Scripting', 'MacroSecurityLevel', 3],
  ['org.openoffice.Office.Writer/Content/Update', 'Link', 2],
  ['org.openoffice.Office.Calc/Content/Update', 'Link', 2],
  ['org.openoffice.Inet/Settings', 'ooInetProxyType', 2],
  ['org.openoffice.Inet/Settings', 'ooInetHTTPProxyName', '127.0.0.1'],
  ['org.openoffice.Inet/Settings', 'ooInetHTTPProxyPort', 9],
  ['org.openoffice.Inet/Settings', 'ooInetHTTPSProxyName', '127.0.0.1'],
  ['org.openoffice.Inet/Settings', 'ooInetHTTPSProxyPort', 9],
];

async function writeSettings(folder: string): Promise<void> {
  const items = settings.map(
    ([path, name, value]) =>
      `<item oor:path="/${path}"><prop oor:name="${name}" oor:op="fuse"><value>${value}</value></prop></item>`,
  );
  const registry = '<oor:items xmlns:oor="http://openoffice.org/2001/registry">';
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'registrymodifications.xcu'),
    `<?xml version="1.0" encoding="UTF-8"?>\n${registry}${items.join('')}</oor:items>\n`,
  );
}

function getFilter(from: OfficeExtension, to: 'pdf' | 'xlsx'): string {
  if (to === 'xlsx') return 'xlsx:Calc MS Excel 2007 XML';
  if (presentations.has(from)) return `pdf:impress_pdf_Export:${exportOptions}`;
  if (spreadsheets.has(from)) return 'pdf:calc_pdf_Export';
  return `pdf:writer_pdf_Export:${exportOptions}`;
}

async function findResult(runner: ToolRunner, folder: string): Promise<string | null> {
  try {
    const [name] = await readdir(join(folder, 'result'));
    return name === undefined ? null : await runner.findResult(folder, join('result', name));
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function toFailure(end: ToolExit, { from, msMax }: OfficeConversion): ToolReply {
  const name = from.toUpperCase();
  switch (end.outcome) {
    case 'timeout':
      return {
        kind: 'failed',
        code: 'timeout',
        message: `Conversion of the ${name} file timed out: LibreOffice took more than ${msMax / 1_000} s.`,
      };
    case 'canceled':
      return { kind: 'failed', code: 'timeout', message: 'Conversion of the file was canceled.' };
    case 'killed':
      return {
        kind: 'failed',
        code: 'crash',
        message: `LibreOffice crashed while it converted the ${name} file.`,
      };
    case 'exited':
    case 'output-limit':
      return {
        kind: 'failed',
        code: 'corrupt',
        message: `LibreOffice cannot read the ${name} file: it is damaged or protected with a password.`,
      };
  }
}
