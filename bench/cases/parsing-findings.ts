import type { BenchOptions } from '../harness/options.ts';
import { spreadOf } from '../harness/statistics.ts';
import type { Column, Figure, Findings, Row, Table } from '../report/findings.ts';
import { promiseTable, unmet, type Wanted } from '../report/promises.ts';
import type { ParsedFile } from './parsing-run.ts';
import type { TimedOut } from './parsing-timeouts.ts';

/** Amount per second of CPU by generated file, round by round; null where poppler is missing. */
export type Speeds = ReadonlyMap<string, readonly (number | null)[]>;

export interface ParsingFindings {
  readonly files: readonly ParsedFile[];
  readonly speeds: Speeds;
  /** CPU of drawing first pages. */
  readonly imageMs: readonly number[];
  readonly peakBytes: number | null;
  /** Optional tools that took part. */
  readonly tools: readonly string[];
  readonly timeouts: readonly TimedOut[];
  readonly options: BenchOptions;
}

export function parsingFindings(found: ParsingFindings): Findings {
  const { files, options } = found;
  return {
    title: 'Documents: what is read in them, how fast, and how much of it is right',
    method: [
      'Each document goes through the parse pool of the server with one thread: its own restricted process, limits and second attempts included. CPU is that of the parser process and of the tools that were started for it.',
      'Agreement is F1 of words, and of pairs of neighbouring words, which falls where the order differs. Wanted is the text that the manifest names; for PDFs also what poppler’s `pdftotext` finds in the same run, if it is on the path.',
      `Speeds are of files that the bench makes: a report of ${options.pages} pages in one column, a table, a letter, a web page; ${options.rounds} rounds, interleaved.`,
      `Optional tools: ${found.tools.join('; ')}.`,
    ],
    tables: [
      promiseTable(promises(found), 3),
      formatTable(files),
      timeoutTable(found.timeouts),
      fileTable(files),
    ],
    charts: [],
    notes: [
      'Pages that were read by OCR cost hundreds of times what other pages cost; they are in the CPU of their format. Running headers, footers and page numbers, which poppler keeps, count against the agreement with it.',
      'A PDF counts as clean when poppler finds at least 20 words and nearly no characters without a meaning in it. Other PDFs have fonts that say nothing about their characters: no program reads them without OCR.',
    ],
    figures: figuresOf(found),
    measured: {
      files,
      speeds: Object.fromEntries(found.speeds),
      imageMs: found.imageMs,
      peakBytes: found.peakBytes,
      timeouts: found.timeouts,
    },
  };
}

/** The Word file of the bench, read without LibreOffice. */
export const ownWordReader = 'letter.docx, no LibreOffice';

/** What is generated grows with the pages, and what is small is read before the parser is warm. */
const promisedPages = 600;

const speedNames: Readonly<
  Record<string, { readonly what: string; readonly unit: string; readonly least?: number }>
> = {
  'report.pdf': { what: 'PDF, plain report: pages per second of CPU', unit: 'pages/s', least: 250 },
  'table.xlsx': { what: 'XLSX: cells per second of CPU', unit: 'cells/s', least: 700_000 },
  [ownWordReader]: { what: 'DOCX, our own reader: MB of text per second of CPU', unit: 'MB/s', least: 5 },
  'letter.docx': {
    what: 'DOCX, LibreOffice asked for the pages: MB of text per second of CPU',
    unit: 'MB/s',
  },
  'page.html': { what: 'HTML: MB per second of CPU', unit: 'MB/s', least: 8 },
  chunks: { what: 'chunker, both granularities: MB per second of CPU', unit: 'MB/s', least: 30 },
};

function promises({ files, speeds, imageMs, peakBytes, timeouts, options }: ParsingFindings): Wanted[] {
  const clean = files.flatMap(({ poppler }) => (poppler?.clean === true ? [poppler.words] : []));
  const judged = files.filter(({ asWanted }) => asWanted !== null);
  return [
    ...Object.entries(speedNames).map(([name, { what, least }]) => ({
      ...(least === undefined ? { what } : { what, least }),
      reached: spreadOf(speeds.get(name) ?? [null])?.median ?? null,
      promisedFor: unmet([[`a report of ${promisedPages} pages`, options.pages === promisedPages]]),
    })),
    {
      what: 'PDFs that pdftotext reads, too: speed as a share of pdftotext',
      reached: shareOfPoppler(files),
      least: 0.4,
    },
    { what: 'pages read by OCR: s of CPU a page', reached: ocrSeconds(files), most: 3 },
    { what: 'clean PDFs against pdftotext: mean word F1', reached: mean(clean), least: 0.98 },
    { what: 'clean PDFs against pdftotext: median word F1', reached: median(clean), least: 0.99 },
    { what: 'page image at 110 dpi: ms of CPU, median', reached: median(imageMs), most: 70 },
    {
      what: 'parser process: MiB at its peak',
      reached: peakBytes === null ? null : peakBytes / 2 ** 20,
      most: 400,
    },
    {
      what: 'longest way of a document beyond its time: s',
      reached: Math.max(...timeouts.map(beyondMs)) / 1_000,
      most: 1,
    },
    {
      what: 'documents that ended as they should, %',
      reached: mean(judged.map(({ asWanted }) => (asWanted === true ? 100 : 0))),
      least: 100,
    },
  ];
}

/** Over all files together; those with pages that were read by OCR do other work than poppler. */
function shareOfPoppler(files: readonly ParsedFile[]): number | null {
  const both = files.filter(({ poppler, ocrPages }) => poppler !== null && ocrPages === 0);
  const sum = (of: (file: ParsedFile) => number) => both.reduce((total, file) => total + of(file), 0);
  const own = sum(({ cpuMs, ms }) => cpuMs ?? ms);
  return own === 0 ? null : sum(({ poppler }) => poppler?.cpuMs ?? 0) / own;
}

/** Of documents all of whose pages were read so. */
function ocrSeconds(files: readonly ParsedFile[]): number | null {
  const scanned = files.filter(({ pages, ocrPages }) => pages > 0 && ocrPages === pages);
  const pages = scanned.reduce((sum, file) => sum + file.pages, 0);
  return pages === 0 ? null : scanned.reduce((sum, { cpuMs, ms }) => sum + (cpuMs ?? ms), 0) / 1_000 / pages;
}

function formatTable(files: readonly ParsedFile[]): Table {
  const types = [...new Set(files.map(({ type }) => type))].toSorted();
  return {
    title: 'By format',
    columns: [
      word('type', 'type'),
      count('files', 'files'),
      count('text', 'with text'),
      count('refused', 'refused'),
      count('unwanted', 'not as wanted'),
      count('pages', 'pages'),
      count('characters', 'characters'),
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

function formatRow(type: string, files: readonly ParsedFile[]): Row {
  const sum = (of: (file: ParsedFile) => number) => files.reduce((total, file) => total + of(file), 0);
  const seconds = sum(({ cpuMs, ms }) => cpuMs ?? ms) / 1_000;
  const means = (key: 'expected' | 'poppler') => {
    const known = files.flatMap((file) => file[key] ?? []);
    return [mean(known.map(({ words }) => words)), mean(known.map(({ pairs }) => pairs))] as const;
  };
  const [[words, pairs], [otherWords, otherPairs]] = [means('expected'), means('poppler')];
  return {
    ...{ type, files: files.length, words, pairs, otherWords, otherPairs },
    text: files.filter(({ outcome }) => outcome === 'text').length,
    refused: files.filter(({ outcome }) => outcome !== 'text' && outcome !== 'no text').length,
    unwanted: files.filter(({ asWanted }) => asWanted === false).length,
    pages: sum(({ pages }) => pages),
    characters: sum(({ characters }) => characters),
    cpu: seconds,
    rate: seconds === 0 ? null : sum(({ pages }) => pages) / seconds,
  };
}

/** For each attempt, the start of a fresh process after a lost one included. */
function beyondMs({ ms, msMax, attempts }: TimedOut): number {
  return ms / attempts - msMax;
}

function timeoutTable(timeouts: readonly TimedOut[]): Table {
  return {
    title: 'Documents that run into each kind of time-out',
    columns: [
      word('what', 'time for'),
      { key: 'limit', heading: 'limit', unit: 's', digits: 1 },
      count('attempts', 'attempts'),
      { key: 'seconds', heading: 'ended after', unit: 's', digits: 2 },
      { key: 'beyond', heading: 'beyond the limit, each', unit: 's', digits: 2 },
      word('said', 'said'),
    ],
    rows: timeouts.map((one) => ({
      ...{ what: one.what, attempts: one.attempts, said: one.said },
      ...{ limit: one.msMax / 1_000, seconds: one.ms / 1_000, beyond: beyondMs(one) / 1_000 },
    })),
  };
}

function fileTable(files: readonly ParsedFile[]): Table {
  return {
    title: 'File by file',
    columns: [
      word('name', 'file'),
      word('kind', 'kind'),
      word('outcome', 'outcome'),
      word('verdict', 'as wanted'),
      count('pages', 'pages'),
      count('ocrPages', 'by OCR'),
      count('characters', 'characters'),
      { key: 'cpu', heading: 'CPU', unit: 'ms', digits: 0 },
      ...agreementColumns,
      { key: 'other', heading: 'pdftotext', unit: 'ms', digits: 0 },
      word('reason', 'said'),
    ],
    rows: files.map(
      ({ name, kind, outcome, asWanted, pages, ocrPages, characters, cpuMs, expected, poppler, reason }) => ({
        ...{ name, kind, outcome, pages, ocrPages, characters, cpu: cpuMs, reason },
        verdict: asWanted === null ? '' : asWanted ? 'yes' : 'NO',
        ...{ words: expected?.words ?? null, pairs: expected?.pairs ?? null },
        ...{
          otherWords: poppler?.words ?? null,
          otherPairs: poppler?.pairs ?? null,
          other: poppler?.cpuMs ?? null,
        },
      }),
    ),
  };
}

function word(key: string, heading: string): Column {
  return { key, heading, unit: null, digits: 0 };
}

const count = word;

const agreementColumns: readonly Column[] = [
  { key: 'words', heading: 'words, expected', unit: null, digits: 3 },
  { key: 'pairs', heading: 'order, expected', unit: null, digits: 3 },
  { key: 'otherWords', heading: 'words, pdftotext', unit: null, digits: 3 },
  { key: 'otherPairs', heading: 'order, pdftotext', unit: null, digits: 3 },
];

function figuresOf({ files, speeds, imageMs, peakBytes }: ParsingFindings): Figure[] {
  const clean = files.flatMap(({ poppler }) => (poppler?.clean === true ? [poppler] : []));
  const known = files.flatMap(({ expected }) => expected ?? []);
  const once = (name: string, unit: string, better: Figure['better'], value: number | null): Figure[] =>
    value === null ? [] : [{ name, unit, better, values: [value] }];
  return [
    ...Object.entries(speedNames).flatMap(([name, { what, unit }]): Figure[] => {
      const values = (speeds.get(name) ?? []).filter((value) => value !== null);
      return values.length === 0 ? [] : [{ name: what, unit, better: 'more', values }];
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
