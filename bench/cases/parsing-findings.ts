import type { BenchOptions } from '../harness/options.ts';
import { spreadOf } from '../harness/statistics.ts';
import type { BenchFindings, Figure, ReportColumn, ReportRow, ReportTable } from '../report/findings.ts';
import { listUnmetConditions, type PerformanceTarget, targetTable } from '../report/performance-targets.ts';
import type { FileParseResult } from './parsing-run.ts';
import type { TimeoutResult } from './parsing-timeouts.ts';

/** Amount per CPU second by generated file, round by round; null if poppler is missing. */
export type ParsingSpeeds = ReadonlyMap<string, readonly (number | null)[]>;

export interface ParsingMeasurement {
  readonly files: readonly FileParseResult[];
  readonly speeds: ParsingSpeeds;
  /** CPU milliseconds of rendering first pages. */
  readonly imageMs: readonly number[];
  readonly peakBytes: number | null;
  /** Optional tools that were available. */
  readonly tools: readonly string[];
  readonly timeouts: readonly TimeoutResult[];
  readonly options: BenchOptions;
}

export function toParsingFindings(measurement: ParsingMeasurement): BenchFindings {
  const { files, options } = measurement;
  return {
    title: 'Parsing of documents: accuracy and speed',
    method: [
      'Each document goes through the parse pool of the server with one thread, including the restricted process, its limits and second attempts. CPU is that of the parser process and of the tools that were started for it.',
      'Agreement is F1 of words, and of pairs of neighboring words, which falls where the order differs. The reference is the text named in the manifest; for PDFs also the output of poppler’s `pdftotext` in the same run, if it is on the path.',
      `Speeds are measured with generated files: a report of ${options.pages} pages in one column, a table, a letter, a web page; ${options.rounds} rounds, interleaved.`,
      `Optional tools: ${measurement.tools.join('; ')}.`,
    ],
    tables: [
      targetTable(performanceTargets(measurement), 3),
      formatTable(files),
      timeoutTable(measurement.timeouts),
      fileTable(files),
    ],
    charts: [],
    notes: [
      'A page read by OCR costs hundreds of times as much as another page and is included in the CPU of its format. Running headers, footers and page numbers, which poppler keeps, lower the agreement with it.',
      'A PDF is clean if poppler finds at least 20 words and almost no undefined characters in it. Other PDFs have fonts without a character mapping, which no program can read without OCR.',
    ],
    figures: figuresOf(measurement),
    measured: {
      files,
      speeds: Object.fromEntries(measurement.speeds),
      imageMs: measurement.imageMs,
      peakBytes: measurement.peakBytes,
      timeouts: measurement.timeouts,
    },
  };
}

/** Name of the measurement of the generated Word file without LibreOffice. */
export const ownWordReader = 'letter.docx, no LibreOffice';

/**
 * Page count for which targets apply: the size of generated files grows with it, and small files are parsed
 * before the parser is warm.
 */
const targetPages = 600;

const speedTargets: Readonly<
  Record<string, { readonly metric: string; readonly unit: string; readonly least?: number }>
> = {
  'report.pdf': { metric: 'PDF, plain report: pages per second of CPU', unit: 'pages/s', least: 250 },
  'table.xlsx': { metric: 'XLSX: cells per second of CPU', unit: 'cells/s', least: 700_000 },
  [ownWordReader]: { metric: 'DOCX, built-in reader: MB of text per second of CPU', unit: 'MB/s', least: 5 },
  'letter.docx': {
    metric: 'DOCX, pages by LibreOffice: MB of text per second of CPU',
    unit: 'MB/s',
  },
  'page.html': { metric: 'HTML: MB per second of CPU', unit: 'MB/s', least: 8 },
  chunks: { metric: 'chunker, both granularities: MB per second of CPU', unit: 'MB/s', least: 30 },
};

function performanceTargets({
  files,
  speeds,
  imageMs,
  peakBytes,
  timeouts,
  options,
}: ParsingMeasurement): PerformanceTarget[] {
  const clean = files.flatMap(({ poppler }) => (poppler?.clean === true ? [poppler.words] : []));
  const judgedFiles = files.filter(({ asWanted }) => asWanted !== null);
  return [
    ...Object.entries(speedTargets).map(([name, { metric, least }]) => ({
      ...(least === undefined ? { metric } : { metric, least }),
      reached: spreadOf(speeds.get(name) ?? [null])?.median ?? null,
      unmetConditions: listUnmetConditions([
        [`a report of ${targetPages} pages`, options.pages === targetPages],
      ]),
    })),
    {
      metric: 'PDFs that pdftotext also reads: speed relative to pdftotext',
      reached: shareOfPoppler(files),
      least: 0.4,
    },
    { metric: 'pages read by OCR: s of CPU per page', reached: ocrSeconds(files), most: 3 },
    { metric: 'clean PDFs against pdftotext: mean word F1', reached: mean(clean), least: 0.98 },
    { metric: 'clean PDFs against pdftotext: median word F1', reached: median(clean), least: 0.99 },
    { metric: 'page image at 110 dpi: ms of CPU, median', reached: median(imageMs), most: 70 },
    {
      metric: 'parser process: MiB at its peak',
      reached: peakBytes === null ? null : peakBytes / 2 ** 20,
      most: 400,
    },
    {
      metric: 'longest overrun of a time limit: s',
      reached: Math.max(...timeouts.map(overrunMs)) / 1_000,
      most: 1,
    },
    {
      metric: 'documents with the expected outcome, %',
      reached: mean(judgedFiles.map(({ asWanted }) => (asWanted === true ? 100 : 0))),
      least: 100,
    },
  ];
}

/**
 * Returns the CPU of poppler relative to the parser over all files. Excludes files with pages read by OCR,
 * which poppler does not do.
 */
function shareOfPoppler(files: readonly FileParseResult[]): number | null {
  const both = files.filter(({ poppler, ocrPages }) => poppler !== null && ocrPages === 0);
  const sum = (of: (file: FileParseResult) => number) => both.reduce((total, file) => total + of(file), 0);
  const own = sum(({ cpuMs, ms }) => cpuMs ?? ms);
  return own === 0 ? null : sum(({ poppler }) => poppler?.cpuMs ?? 0) / own;
}

/** Returns CPU seconds per page of documents whose pages were all read by OCR. */
function ocrSeconds(files: readonly FileParseResult[]): number | null {
  const scanned = files.filter(({ pages, ocrPages }) => pages > 0 && ocrPages === pages);
  const pages = scanned.reduce((sum, file) => sum + file.pages, 0);
  return pages === 0 ? null : scanned.reduce((sum, { cpuMs, ms }) => sum + (cpuMs ?? ms), 0) / 1_000 / pages;
}

function formatTable(files: readonly FileParseResult[]): ReportTable {
  const types = [...new Set(files.map(({ type }) => type))].toSorted();
  return {
    title: 'By format',
    columns: [
      textColumn('type', 'type'),
      countColumn('files', 'files'),
      countColumn('text', 'with text'),
      countColumn('refused', 'refused'),
      countColumn('unwanted', 'unexpected'),
      countColumn('pages', 'pages'),
      countColumn('characters', 'characters'),
      { key: 'cpu', heading: 'CPU', unit: 's', digits: 2 },
      { key: 'rate', heading: 'pages', unit: '1/s', digits: 1 },
      ...agreementColumns,
    ],
    rows: types.map((type) =>
      formatRow(
        type,
        files.filter((file) => file.type === type),
      ),
    ),
  };
}

function formatRow(type: string, files: readonly FileParseResult[]): ReportRow {
  const sum = (of: (file: FileParseResult) => number) => files.reduce((total, file) => total + of(file), 0);
  const seconds = sum(({ cpuMs, ms }) => cpuMs ?? ms) / 1_000;
  const means = (key: 'expected' | 'poppler') => {
    const known = files.flatMap((file) => file[key] ?? []);
    return [mean(known.map(({ words }) => words)), mean(known.map(({ pairs }) => pairs))] as const;
  };
  const [[words, pairs], [otherWords, otherPairs]] = [means('expected'), means('poppler')];
  return {
    type,
    files: files.length,
    words,
    pairs,
    otherWords,
    otherPairs,
    text: files.filter(({ outcome }) => outcome === 'text').length,
    refused: files.filter(({ outcome }) => outcome !== 'text' && outcome !== 'no text').length,
    unwanted: files.filter(({ asWanted }) => asWanted === false).length,
    pages: sum(({ pages }) => pages),
    characters: sum(({ characters }) => characters),
    cpu: seconds,
    rate: seconds === 0 ? null : sum(({ pages }) => pages) / seconds,
  };
}

/** Returns milliseconds beyond the limit per attempt, including the restart of a lost process. */
function overrunMs({ ms, msMax, attempts }: TimeoutResult): number {
  return ms / attempts - msMax;
}

function timeoutTable(timeouts: readonly TimeoutResult[]): ReportTable {
  return {
    title: 'Documents that reach each time limit',
    columns: [
      textColumn('name', 'time for'),
      { key: 'limit', heading: 'limit', unit: 's', digits: 1 },
      countColumn('attempts', 'attempts'),
      { key: 'seconds', heading: 'finished after', unit: 's', digits: 2 },
      { key: 'beyond', heading: 'beyond the limit, each', unit: 's', digits: 2 },
      textColumn('message', 'message'),
    ],
    rows: timeouts.map((one) => ({
      name: one.name,
      attempts: one.attempts,
      message: one.message,
      limit: one.msMax / 1_000,
      seconds: one.ms / 1_000,
      beyond: overrunMs(one) / 1_000,
    })),
  };
}

function fileTable(files: readonly FileParseResult[]): ReportTable {
  return {
    title: 'File by file',
    columns: [
      textColumn('name', 'file'),
      textColumn('kind', 'kind'),
      textColumn('outcome', 'outcome'),
      textColumn('verdict', 'as expected'),
      countColumn('pages', 'pages'),
      countColumn('ocrPages', 'by OCR'),
      countColumn('characters', 'characters'),
      { key: 'cpu', heading: 'CPU', unit: 'ms', digits: 0 },
      ...agreementColumns,
      { key: 'other', heading: 'pdftotext', unit: 'ms', digits: 0 },
      textColumn('reason', 'message'),
    ],
    rows: files.map(
      ({ name, kind, outcome, asWanted, pages, ocrPages, characters, cpuMs, expected, poppler, reason }) => ({
        name,
        kind,
        outcome,
        pages,
        ocrPages,
        characters,
        cpu: cpuMs,
        reason,
        verdict: asWanted === null ? '' : asWanted ? 'yes' : 'NO',
        words: expected?.words ?? null,
        pairs: expected?.pairs ?? null,

        otherWords: poppler?.words ?? null,
        otherPairs: poppler?.pairs ?? null,
        other: poppler?.cpuMs ?? null,
      }),
    ),
  };
}

function textColumn(key: string, heading: string): ReportColumn {
  return { key, heading, unit: null, digits: 0 };
}

const countColumn = textColumn;

const agreementColumns: readonly ReportColumn[] = [
  { key: 'words', heading: 'words, expected', unit: null, digits: 3 },
  { key: 'pairs', heading: 'order, expected', unit: null, digits: 3 },
  { key: 'otherWords', heading: 'words, pdftotext', unit: null, digits: 3 },
  { key: 'otherPairs', heading: 'order, pdftotext', unit: null, digits: 3 },
];

function figuresOf({ files, speeds, imageMs, peakBytes }: ParsingMeasurement): Figure[] {
  const clean = files.flatMap(({ poppler }) => (poppler?.clean === true ? [poppler] : []));
  const known = files.flatMap(({ expected }) => expected ?? []);
  const once = (name: string, unit: string, better: Figure['better'], value: number | null): Figure[] =>
    value === null ? [] : [{ name, unit, better, values: [value] }];
  return [
    ...Object.entries(speedTargets).flatMap(([name, { metric, unit }]): Figure[] => {
      const values = (speeds.get(name) ?? []).filter((value) => value !== null);
      return values.length === 0 ? [] : [{ name: metric, unit, better: 'more', values }];
    }),
    ...once('clean PDFs: mean word F1', 'F1', 'more', mean(clean.map(({ words }) => words))),
    ...once('clean PDFs: mean order F1', 'F1', 'more', mean(clean.map(({ pairs }) => pairs))),
    ...once('expected texts: mean word F1', 'F1', 'more', mean(known.map(({ words }) => words))),
    ...once('expected texts: mean order F1', 'F1', 'more', mean(known.map(({ pairs }) => pairs))),
    ...once('page image: median CPU', 'ms', 'less', median(imageMs)),
    ...once('parser process: peak', 'bytes', 'less', peakBytes),
  ];
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function median(values: readonly number[]): number | null {
  return values.length === 0 ? null : (spreadOf(values)?.median ?? null);
}
