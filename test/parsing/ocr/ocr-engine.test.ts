import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { chooseOcrEngine, type OcrEngineName } from '../../../src/parsing/ocr/ocr-engine.ts';
import { findOptionalTools } from '../../../src/parsing/tools/optional-tools.ts';
import { noSandbox } from '../../../src/parsing/tools/sandbox.ts';
import { ToolRunner } from '../../../src/parsing/tools/tool-runner.ts';

interface OcrHost {
  readonly engine: OcrEngineName;
  readonly languages: string;
  /** Installed languages; null if the program is not installed. */
  readonly installed: readonly string[] | null;
}

function selectEngine(t: Test, { engine, languages, installed }: OcrHost) {
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
  const own = { embeddedEntry: '', dataFolder: join(base, 'data'), languagesFolder };
  const { name } = chooseOcrEngine({
    engine,
    languages,
    installedLanguages: installed ?? [],
    runner,
    disabledReason: null,
    ...own,
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
    ...{ engine: 'embedded', languages: 'eng+nope+script/none', installed: ['nope'] },
    expected: /embedded engine lacks nope, script\/none \(npm install @tesseract\.js-data\/nope/,
  },
  { engine: 'auto', languages: 'nope', installed: ['eng'], expected: /lacks nope.*; tesseract lacks nope/ },
];
for (const { expected, ...host } of engineCases) {
  const { engine, languages, installed } = host;
  t.test(`OCR ${engine}, ${languages}, with ${installed ?? 'no binary'}`, async (t) => {
    if (typeof expected === 'string') t.equal(selectEngine(t, host).name, expected);
    else t.throws(() => selectEngine(t, host), { message: expected });
  });
}

t.test('the embedded engine finds language data of packages and of a configured folder', async (t) => {
  const { languagesFolder } = selectEngine(t, { engine: 'embedded', languages: 'eng+own', installed: null });
  t.same(readdirSync(languagesFolder).sort(), ['eng.traineddata.gz', 'own.traineddata.gz']);
  t.equal(readFileSync(join(languagesFolder, 'own.traineddata.gz'), 'utf8'), 'data of a language');
});
