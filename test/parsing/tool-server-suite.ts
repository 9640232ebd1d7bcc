import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemRandom } from '../../src/core/ids.ts';
import { chooseOcrEngine } from '../../src/parsing/ocr/ocr-engine.ts';
import { isFailedOutcome } from '../../src/parsing/process/parse-task.ts';
import { ParserHost } from '../../src/parsing/process/parser-host.ts';
import { findOptionalTools } from '../../src/parsing/tools/optional-tools.ts';
import { noSandbox } from '../../src/parsing/tools/sandbox.ts';
import { ToolRunner } from '../../src/parsing/tools/tool-runner.ts';
import { ToolServer } from '../../src/parsing/tools/tool-server.ts';
import t, { type Test } from '../support/tap.ts';
import { testEventMsMax, testFileMsMax, waitUntil } from '../timeouts.ts';
import { utf8 } from './byte-fixtures.ts';
import { buildDocx, docxPart } from './office-fixtures.ts';
import { buildPdf, buildScannedPdf } from './pdf-fixtures.ts';
import { renderText } from './render-text.ts';

/** Programs that hang, crash, run out of disk space or are missing: each affects at most its own document. */

t.setTimeout(testFileMsMax);
const entry = fileURLToPath(new URL('../../workers/parser-process.js', import.meta.url));
const rtf = utf8('{\\rtf1\\ansi Words of a letter.\\par}');
/** Output folder passed to LibreOffice. */
const createOutputFolder = 'while [ "$1" != --outdir ]; do shift; done; mkdir -p "$2"';

function selectOcrEngine(runner: ToolRunner, engine: 'off' | 'tesseract') {
  return chooseOcrEngine({
    engine,
    languages: 'eng',
    installedLanguages: ['eng'],
    runner,
    disabledReason: null,
    embeddedEntry: '',
    missingCoreFiles: [],
    dataFolder: null,
    languagesFolder: '',
  });
}

/** Parser whose external programs are shell scripts from the test. */
function createToolServer(
  t: Test,
  scripts: { soffice?: string; tesseract?: string },
  freeBytes = async () => Number.MAX_SAFE_INTEGER,
) {
  const base = t.testdir({ files: {}, tools: {}, made: {}, programs: {} });
  const [derivedFolder, folder, files] = [join(base, 'made'), join(base, 'tools'), join(base, 'files')];
  const program = (name: string, script: string | undefined) => {
    if (script === undefined) return null;
    const file = join(base, 'programs', name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return file;
  };
  const tools = {
    ...findOptionalTools([]),
    soffice: program('soffice', scripts.soffice),
    tesseract: program('tesseract', scripts.tesseract),
  };
  const freshName = () => systemRandom.uuid();
  const runner = new ToolRunner({
    tools,
    sandbox: noSandbox,
    folder,
    createUniqueName: freshName,
    getFreeBytes: freeBytes,
  });
  const ocrEngine = selectOcrEngine(runner, scripts.tesseract === undefined ? 'off' : 'tesseract');
  const converted = {
    folder: derivedFolder,
    find: async (name: string) => (existsSync(join(derivedFolder, name)) ? join(derivedFolder, name) : null),
    add: async (name: string, file: string) => {
      await rename(file, join(derivedFolder, name));
      return join(derivedFolder, name);
    },
  };
  const toolServer = new ToolServer({
    runner,
    ocrEngine,
    converted,
    office: true,
    disabledReason: null,
    runningMax: 2,
    createUniqueName: freshName,
  });
  const host = () => {
    const one = new ParserHost({
      entry,
      prlimit: null,
      sandbox: noSandbox,
      onProcess: () => {},
      tools: toolServer,
    });
    t.teardown(() => one.close());
    return one;
  };
  t.teardown(() => toolServer.close());
  const stored = (bytes: Uint8Array, name = 'a'.repeat(64)) => {
    writeFileSync(join(files, name), bytes);
    return { kind: 'parse', file: join(files, name) } as const;
  };
  return { host, stored, folder, derivedFolder, base };
}

t.test('a hanging program is stopped at its own limit, and the document is parsed without it', async (t) => {
  const { host, stored, folder } = createToolServer(t, { soffice: 'sleep 600' });
  const limits = { convertMsMax: 400, idleMsMax: testEventMsMax };
  const outcome = await host().parse({ ...stored(rtf), limits });
  t.match(outcome, {
    pages: ['Words of a letter.'],
    warnings: [/took more than 0.4 s/],
    pageImages: 'never',
  });
  t.same(readdirSync(folder), [], 'no files remain');
});

t.test('a program is stopped with its document at the total time limit', async (t) => {
  const pids = t.testdirName;
  const { host, stored } = createToolServer(t, { soffice: `echo $$ > ${pids}/pid; sleep 600` });
  const parser = host();
  await parser.parse(stored(buildPdf(['warm'])));
  // The time in which the parser waits for a program does not count as idle.
  const limits = { totalMsMax: 10_000, idleMsMax: 6_000 };
  // A lost document is retried once in a new process, which takes time to start.
  const late = parser.parse({ ...stored(rtf, 'b'.repeat(64)), limits });
  t.match(await late, { failure: { code: 'timeout', message: /10 s in total/ } });
  const pid = Number(readFileSync(join(pids, 'pid'), 'utf8'));
  // Without a working directory the program has ended, even if its parent has not reaped it yet.
  await waitUntil('the end of the program', () => !existsSync(`/proc/${pid}/cwd`));
  t.match(await parser.parse(stored(buildPdf(['next']))), { pages: ['next'] });
});

t.test('canceling a document stops its program at once', async (t) => {
  const { host, stored, folder } = createToolServer(t, { soffice: 'sleep 600' });
  const parser = host();
  const cancellation = new AbortController();
  const running = parser.parse(stored(rtf), undefined, cancellation.signal);
  while (readdirSync(folder).length === 0) await sleep(20);
  cancellation.abort();
  t.match(await running, { failure: { code: 'timeout', message: /canceled/ } });
  while (readdirSync(folder).length > 0) await sleep(20);
});

t.test(
  'the parsed text is kept when LibreOffice exits without a result, crashes or reports an error',
  async (t) => {
    const cases: [string, RegExp][] = [
      ['exit 0', /damaged or protected/],
      ['exit 77', /damaged or protected/],
      ['kill -9 $$', /crashed/],
    ];
    const script = join(t.testdirName, 'script');
    const { host, stored } = createToolServer(t, { soffice: `. ${script}` });
    const parser = host();
    for (const [i, [soffice, words]] of cases.entries()) {
      writeFileSync(script, soffice);
      const outcome = await parser.parse(stored(rtf, String(i).repeat(64)));
      t.match(outcome, { pages: ['Words of a letter.'], warnings: [words] }, soffice);
    }
  },
);

t.test(
  'without disk space for LibreOffice the parsed text is kept, and space is checked again',
  async (t) => {
    const pdf = join(t.testdirName, 'result.pdf');
    let free = 100;
    const converting = { soffice: `${createOutputFolder}; cp ${pdf} "$2/document.pdf"` };
    const { host, stored, folder } = createToolServer(t, converting, async () => free);
    writeFileSync(pdf, buildPdf(['Words of a', 'letter.']));
    const parser = host();
    const broken = buildDocx([], { parts: { 'word/document.xml': docxPart('').slice(0, -20) } });
    t.match(await parser.parse(stored(rtf)), {
      pages: ['Words of a letter.'],
      warnings: [/no space for temp/],
    });
    t.same(readdirSync(folder), []);
    free = 1e9;
    t.match(await parser.parse(stored(rtf)), { pages: ['Words of a', 'letter.'], warnings: [] });
    const filling = createToolServer(t, { soffice: 'exit 0' }, async () => (free -= 6e8));
    free = 1e9;
    const outcome = await filling.host().parse(filling.stored(rtf));
    t.match(outcome, { pages: ['Words of a letter.'], warnings: [/no space for temp/] }, 'filled meanwhile');
    const unread = await filling.host().parse(filling.stored(broken, 'b'.repeat(64)));
    t.match(
      unread,
      { failure: { code: 'crash', message: /no space for temp/ } },
      'the file is not reported as damaged',
    );
  },
);

t.test(
  'concurrent documents with equal bytes are converted once, and later ones reuse the result',
  async (t) => {
    const runs = t.testdirName;
    const pdf = join(runs, 'result.pdf');
    const { host, stored } = createToolServer(t, {
      soffice: `echo run >> ${runs}/runs; sleep 0.5; ${createOutputFolder}; cp ${pdf} "$2/document.pdf"`,
    });
    writeFileSync(pdf, buildPdf(['Words of a', 'letter.']));
    const task = stored(rtf);
    const outcomes = await Promise.all([host().parse(task), host().parse(task)]);
    for (const outcome of outcomes) t.equal(isFailedOutcome(outcome) ? 0 : outcome.pages.length, 2);
    const image = await host().render({ ...task, kind: 'render', page: 1 });
    t.ok(image instanceof Uint8Array && image[0] === 0xff);
    t.equal(readFileSync(join(runs, 'runs'), 'utf8'), 'run\n');
  },
);

t.test(
  'an Office file with only images is read by OCR from the pages that LibreOffice renders',
  async (t) => {
    const pdf = join(t.testdirName, 'result.pdf');
    const { host, stored } = createToolServer(t, {
      soffice: `${createOutputFolder}; cp ${pdf} "$2/document.pdf"`,
      tesseract: "cat > image.png; printf '5\\t1\\t1\\t1\\t1\\t1\\t0\\t0\\t9\\t9\\t95\\tscanned\\n'",
    });
    writeFileSync(pdf, buildScannedPdf([await renderText('words', 40)]));
    t.match(await host().parse(stored(buildDocx([]))), { kind: 'docx', pages: ['scanned'] });
    t.match(await host().parse(stored(buildDocx(['typed']), 'b'.repeat(64))), { pages: ['typed'] });
  },
);

t.test('the result for a file that is not stored is deleted with the document', async (t) => {
  const pdf = join(t.testdirName, 'result.pdf');
  const { host, stored, derivedFolder } = createToolServer(t, {
    soffice: `${createOutputFolder}; cp ${pdf} "$2/document.pdf"`,
  });
  writeFileSync(pdf, buildPdf(['Words of a letter.']));
  t.match(await host().parse(stored(rtf, systemRandom.uuid())), { pages: ['Words of a letter.'] });
  await waitUntil('the removal of the result', () => readdirSync(derivedFolder).length === 0);
  t.same(readdirSync(derivedFolder), []);
});

t.test('a crash of the OCR program fails its page, and a full disk fails the document', async (t) => {
  const scan = buildScannedPdf([await renderText('words', 40)]);
  const dying = createToolServer(t, { tesseract: 'kill -9 $$' });
  const outcome = await dying.host().parse(dying.stored(scan));
  t.match(outcome, { pages: [''] });
  t.ok(
    !isFailedOutcome(outcome) && outcome.warnings.some((warning) => /not read: 1\. Tesseract/.test(warning)),
  );
  const full = createToolServer(t, { tesseract: 'exit 0' });
  const parser = full.host();
  await parser.parse(full.stored(buildPdf(['warm'])));
  // A path that cannot be written to simulates a full disk.
  rmSync(full.folder, { recursive: true });
  writeFileSync(full.folder, '');
  t.match(await parser.parse(full.stored(scan)), {
    failure: { code: 'crash', message: /failed to start: (?!Error)/ },
  });
  rmSync(full.folder);
  mkdirSync(full.folder);
  t.match(await parser.parse(full.stored(scan)), { pages: [''] });
});
