import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listMissingCoreFiles } from '../../../src/parsing/ocr/ocr-core.ts';
import { chooseOcrEngine, type OcrEngineName } from '../../../src/parsing/ocr/ocr-engine.ts';
import { findOptionalTools } from '../../../src/parsing/tools/optional-tools.ts';
import { noSandbox } from '../../../src/parsing/tools/sandbox.ts';
import { ToolRunner } from '../../../src/parsing/tools/tool-runner.ts';
import t, { type Test } from '../../support/tap.ts';

interface OcrHost {
  readonly engine: OcrEngineName;
  readonly languages: string;
  /** Installed languages; null if the program is not installed. */
  readonly installed: readonly string[] | null;
  /** Files of the embedded engine that are not installed; none by default. */
  readonly missing?: readonly string[];
}

function selectEngine(t: Test, { engine, languages, installed, missing }: OcrHost) {
  const base = t.testdir({ tools: {}, data: { 'own.traineddata': 'data of a language' } });
  const folder = join(base, 'tools');
  const tools = { ...findOptionalTools([]), tesseract: installed === null ? null : '/bin/true' };
  const runner = new ToolRunner({
    tools,
    sandbox: noSandbox,
    folder,
    createUniqueName: () => 'name',
    getFreeBytes: async () => 0,
  });
  const languagesFolder = join(folder, 'languages');
  const { name } = chooseOcrEngine({
    engine,
    languages,
    installedLanguages: installed ?? [],
    runner,
    disabledReason: null,
    embeddedEntry: '',
    missingCoreFiles: missing ?? [],
    dataFolder: join(base, 'data'),
    languagesFolder,
  });
  return { name, languagesFolder };
}

const engineCases: readonly (OcrHost & { readonly expected: string | RegExp })[] = [
  { engine: 'auto', languages: 'eng', installed: null, expected: 'embedded tesseract.js, languages eng' },
  {
    engine: 'auto',
    languages: 'eng+deu',
    installed: ['eng', 'deu'],
    expected: 'tesseract, languages eng+deu',
  },
  { engine: 'auto', languages: 'own', installed: ['eng'], expected: 'embedded tesseract.js, languages own' },
  {
    engine: 'embedded',
    languages: 'eng',
    installed: ['eng'],
    expected: 'embedded tesseract.js, languages eng',
  },
  { engine: 'off', languages: 'eng', installed: ['eng'], expected: 'off' },
  { engine: 'tesseract', languages: 'eng', installed: null, expected: /tesseract is not installed/ },
  { engine: 'tesseract', languages: 'own', installed: ['eng'], expected: /tesseract lacks own and has eng/ },
  {
    engine: 'embedded',
    languages: 'eng+nope+script/none',
    installed: ['nope'],
    expected: /embedded engine lacks nope, script\/none \(npm install @tesseract\.js-data\/nope/,
  },
  { engine: 'auto', languages: 'nope', installed: ['eng'], expected: /lacks nope.*; tesseract lacks nope/ },
  {
    engine: 'auto',
    languages: 'eng',
    installed: ['eng'],
    missing: ['x.wasm'],
    expected: 'tesseract, languages eng',
  },
  {
    engine: 'auto',
    languages: 'eng',
    installed: null,
    missing: ['x.wasm'],
    expected: /embedded engine lacks x\.wasm of the package tesseract\.js-core.*; tesseract is not installed/,
  },
  {
    engine: 'embedded',
    languages: 'eng',
    installed: ['eng'],
    missing: ['x.wasm'],
    expected: /lacks x\.wasm/,
  },
];
for (const { expected, ...host } of engineCases) {
  const { engine, languages, installed, missing } = host;
  const without = missing === undefined ? '' : `, without ${missing.join(', ')}`;
  t.test(`OCR ${engine}, ${languages}, with ${installed ?? 'no binary'}${without}`, async (t) => {
    if (typeof expected === 'string') t.equal(selectEngine(t, host).name, expected);
    else t.throws(() => selectEngine(t, host), { message: expected });
  });
}

t.test('the embedded engine finds language data of packages and of a configured folder', async (t) => {
  const { languagesFolder } = selectEngine(t, { engine: 'embedded', languages: 'eng+own', installed: null });
  t.same(readdirSync(languagesFolder).sort(), ['eng.traineddata.gz', 'own.traineddata.gz']);
  t.equal(readFileSync(join(languagesFolder, 'own.traineddata.gz'), 'utf8'), 'data of a language');
});

t.test('the files that the embedded engine loads are installed, and a missing one is reported', async (t) => {
  t.same(listMissingCoreFiles(), []);
  // Outside of the project, whose own packages would be found.
  const base = mkdtempSync(join(tmpdir(), 'quarry-ocr-'));
  t.teardown(() => rmSync(base, { recursive: true }));
  const folder = join(base, 'node_modules');
  const core = join(folder, 'tesseract.js-core');
  for (const each of [core, join(folder, 'tesseract.js')]) {
    mkdirSync(each, { recursive: true });
    writeFileSync(join(each, 'package.json'), '{}');
  }
  for (const ending of ['js', 'wasm']) writeFileSync(join(core, `tesseract-core.${ending}`), '');
  t.same(listMissingCoreFiles([folder]), [
    'tesseract-core-simd.js',
    'tesseract-core-simd.wasm',
    'tesseract-core-relaxedsimd.js',
    'tesseract-core-relaxedsimd.wasm',
  ]);
  t.equal(listMissingCoreFiles([core]).length, 6, 'without tesseract.js');
});
