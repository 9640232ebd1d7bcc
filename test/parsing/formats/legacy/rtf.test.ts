import t from '../../../support/tap.ts';
import { utf8 } from '../../byte-fixtures.ts';
import { parseFailureOf, parseInProcess } from '../../parse-in-process.ts';

const fonts =
  '{\\fonttbl{\\f0\\fswiss Arial;}{\\f1\\fcharset204 Arial Cyr;}{\\f2\\fcharset128 MS Gothic;}{\\f3\\fcharset2 Symbol;}}';
const styles = '{\\stylesheet{\\s0 Normal;}{\\s1 heading 1;}{\\s15 Title;}{\\*\\cs10 Default;}}';

function rtf(body: string): Uint8Array {
  return utf8(`{\\rtf1\\ansi\\ansicpg1252\\deff0${fonts}${styles}${body}}`);
}

async function page(body: string): Promise<string | undefined> {
  return (await parseInProcess(rtf(body))).pages[0];
}

t.test('RTF: order, headings, tables, lists and notes are kept, and page breaks end pages', async (t) => {
  const body =
    "{\\info{\\title A \\'fcber report}{\\author nobody}}{\\header every page\\par}" +
    '\\pard\\s1 First part\\par\\pard plain{\\footnote \\pard {\\super 1} The note\\par} text\\par' +
    "{\\listtext 1.\\tab}one\\par{\\listtext\\f3\\'b7\\tab}point\\par" +
    '\\trowd\\pard\\intbl a\\cell b\\par c\\cell\\row\\trowd\\pard\\intbl 1\\cell\\cell\\row\\pard after\\par' +
    '{\\*\\unknown secret}{\\pict 0102}\\page\\pard\\outlinelevel1 Second\\par';
  const document = await parseInProcess(rtf(body), 'a.rtf');
  t.match(document, {
    kind: 'rtf',
    title: 'A über report',
    headings: true,
    contentType: 'application/rtf',
  });
  t.same(document.pages, [
    '# First part\n\nplain text\n1. one\n- point\na | b c\n1 | \nafter\n\n1 The note',
    '## Second',
  ]);
});

t.test('RTF of other programs: marked footnotes, text boxes with properties', async (t) => {
  const box =
    '{\\shp{\\*\\shpinst\\shpleft1{\\sp{\\sn shapeType}{\\sv 202}}{\\shptxt \\pard In a box\\par}}}';
  const letters =
    '{\\shp{\\*\\shpinst{\\sp{\\sn shapeType}{\\sv 136}}{\\sp{\\sn gtextUNICODE}{\\sv Drawn \\u1055?}}{\\sp{\\sn pib}{\\sv {\\pict 00ff}}}}}';
  t.equal(await page(`one ${letters}two\\par`), 'one\nDrawn П\ntwo');
  const note = '{\\super\\chftn{\\*\\footnote\\chftn\\pard The note\\par}}';
  t.equal(await page(`plain${note} text\\par ${box}after\\par`), 'plain text\nIn a box\nafter\n\nThe note');
});

t.test('RTF: each way to encode a character is decoded', async (t) => {
  const cases: [string, string, string][] = [
    ['the code page of the document', "Gr\\'fc\\'dfe \\'93a\\'94", 'Grüße “a”'],
    ['the code page of a font', "\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2", 'Привет'],
    ['two bytes per character', "\\f2 \\'93\\'fa\\'96\\'7b", '日本'],
    ['Unicode with a replacement character', "\\uc1\\u1055?\\u1088\\'3f!", 'Пр!'],
    ['Unicode with two replacement characters', '\\uc2 {\\u26085 ab}\\u-28207 cd.', '日金.'],
    ['a character beyond 65,535', '\\u-10179?\\u-8704?', '😀'],
    ['named characters', 'a\\emdash b\\~c\\_d\\lquote e\\rquote', 'a—b\xa0c-d‘e’'],
    ['escaped control characters', 'a\\\\b\\{c\\}', 'a\\b{c}'],
    ['both versions of one text', '{\\upr{old}{\\*\\ud{new}}}', 'new'],
    ['hidden and deleted text', 'seen{\\v hidden}{\\deleted gone}\\v x\\v0  end', 'seen end'],
    ['a field', '{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt link}}', 'link'],
    ['binary data', 'a\\bin3 }}}b', 'ab'],
    ['unknown control words', 'a\\constructor b{\\toString c}', 'abc'],
  ];
  for (const [name, body, text] of cases) t.match(await page(`${body}\\par`), text, name);
});

t.test('RTF: DOS encodings are decoded', async (t) => {
  const cases: [string, string][] = [
    ['\\pca', "\\'b5gua: Gr\\'81\\'e1e"],
    ['\\pca\\ansicpg850', "\\'b5gua: Gr\\'81\\'e1e"],
    ['\\ansi\\ansicpg850', "\\'b5gua: Gr\\'81\\'e1e"],
    ['\\pc', "\\'c9\\'cd\\'bb Gr\\'81\\'e1e"],
    ['\\ansi\\ansicpg437', "\\'c9\\'cd\\'bb Gr\\'81\\'e1e"],
    ['\\ansi{\\fonttbl{\\f0\\fcharset254 Terminal;}}\\f0', "\\'c9\\'cd\\'bb Gr\\'81\\'e1e"],
    ['\\ansi\\ansicpg852', "P\\'fd\\'a1li\\'e7 \\'a7lu\\'9cou\\'9fk\\'ec"],
  ];
  const expected = [
    'Água: Grüße',
    'Água: Grüße',
    'Água: Grüße',
    '╔═╗ Grüße',
    '╔═╗ Grüße',
    '╔═╗ Grüße',
    'Příliš žluťoučký',
  ];
  for (const [i, [head, body]] of cases.entries())
    t.same((await parseInProcess(utf8(`{\\rtf1${head} ${body}\\par}`))).pages, [expected[i]], head);
});

t.test('RTF: a damaged file is read as far as it goes, and a group bomb is rejected', async (t) => {
  const cut = await parseInProcess(utf8(`{\\rtf1\\ansi{\\b half of a`));
  t.same([cut.pages, cut.warnings.length], [['half of a'], 1]);
  t.same((await parseInProcess(utf8('{\\rtf1 a}}} rubbish'))).pages, ['a']);
  t.same((await parseInProcess(utf8('{\\rtf1\\'))).pages, ['']);
  t.equal((await parseFailureOf(utf8(`{\\rtf1 ${'{'.repeat(100_000)}`))).code, 'too_large');
  t.equal((await parseFailureOf(rtf('x'.repeat(5_000)), null, { textUnitsMax: 1_000 })).code, 'too_large');
});
