import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { optionalTools } from '../../src/parsing/optional-tools.ts';
import { chooseRecogniser, type OcrEngineName } from '../../src/parsing/recogniser.ts';
import { noSandbox } from '../../src/parsing/sandbox.ts';
import { ToolRunner } from '../../src/parsing/tool-runner.ts';

interface Host {
  readonly engine: OcrEngineName;
  readonly languages: string;
  /** Languages of the binary; null: there is none. */
  readonly installed: readonly string[] | null;
}

function choose(t: Test, { engine, languages, installed }: Host) {
  const base = t.testdir({ tools: {}, data: { 'own.traineddata': 'data of a language' } });
  const folder = join(base, 'tools');
  const tools = { ...optionalTools([]), tesseract: installed === null ? null : '/bin/true' };
  const runner = new ToolRunner({
    tools,
    sandbox: noSandbox,
    folder,
    freshName: () => 'name',
    freeBytes: async () => 0,
  });
  const languagesFolder = join(folder, 'languages');
  const own = { embeddedEntry: '', dataFolder: join(base, 'data'), languagesFolder };
  const { name } = chooseRecogniser({
    engine,
    languages,
    installed: installed ?? [],
    runner,
    refusal: null,
    ...own,
  });
  return { name, languagesFolder };
}

const choices: readonly (Host & { readonly wanted: string | RegExp })[] = [
  { engine: 'auto', languages: 'eng', installed: null, wanted: 'embedded tesseract.js, languages eng' },
  { engine: 'auto', languages: 'eng+deu', installed: ['eng', 'deu'], wanted: 'tesseract, languages eng+deu' },
  { engine: 'auto', languages: 'own', installed: ['eng'], wanted: 'embedded tesseract.js, languages own' },
  {
    engine: 'embedded',
    languages: 'eng',
    installed: ['eng'],
    wanted: 'embedded tesseract.js, languages eng',
  },
  { engine: 'off', languages: 'eng', installed: ['eng'], wanted: 'off' },
  { engine: 'tesseract', languages: 'eng', installed: null, wanted: /tesseract is not installed/ },
  { engine: 'tesseract', languages: 'own', installed: ['eng'], wanted: /tesseract lacks own and has eng/ },
  {
    ...{ engine: 'embedded', languages: 'eng+nope+script/none', installed: ['nope'] },
    wanted: /embedded engine lacks nope, script\/none \(npm install @tesseract\.js-data\/nope/,
  },
  { engine: 'auto', languages: 'nope', installed: ['eng'], wanted: /lacks nope.*; tesseract lacks nope/ },
];
for (const { wanted, ...host } of choices) {
  const { engine, languages, installed } = host;
  t.test(`OCR ${engine}, ${languages}, with ${installed ?? 'no binary'}`, async (t) => {
    if (typeof wanted === 'string') t.equal(choose(t, host).name, wanted);
    else t.throws(() => choose(t, host), { message: wanted });
  });
}

t.test('the embedded engine finds data of packages and of an own folder in one place', async (t) => {
  const { languagesFolder } = choose(t, { engine: 'embedded', languages: 'eng+own', installed: null });
  t.same(readdirSync(languagesFolder).sort(), ['eng.traineddata.gz', 'own.traineddata.gz']);
  t.equal(readFileSync(join(languagesFolder, 'own.traineddata.gz'), 'utf8'), 'data of a language');
});
