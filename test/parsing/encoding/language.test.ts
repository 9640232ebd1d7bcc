import t from '../../support/tap.ts';
import { utf8 } from '../byte-fixtures.ts';
import { buildDocx } from '../office-fixtures.ts';
import { parseInProcess } from '../parse-in-process.ts';
import { languageCases } from './language-cases.ts';

t.test('the language is detected by script and function words, and short texts have none', async (t) => {
  for (const [text, language] of languageCases)
    t.equal((await parseInProcess(utf8(text), 'a.txt')).language, language, text);
});

t.test('the declared language is used unless the text contradicts it', async (t) => {
  const cases: [text: string, declared: string, language: string | null][] = [
    ['Granit, Basalt, Marmor', 'de-DE', 'de'],
    ['Invoice of March', 'en-US', 'en'],
    ['Die granitene Brücke trägt siebzehn Fässer Öl und wurde mit Mühe gebaut.', 'en-US', null],
    ['Мост над водой и старая река', 'en-US', null],
    ['Η γέφυρα πάνω από τον ποταμό', 'en-US', 'el'],
    ['Hið íslenska bókmenntafélag', 'is', 'is'],
  ];
  for (const [text, declared, language] of cases)
    t.equal(
      (await parseInProcess(buildDocx([text], { language: declared }), 'a.docx')).language,
      language,
      text,
    );
});
