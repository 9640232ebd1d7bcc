import { detectDocument } from '../../../src/parsing/detect.ts';
import { formats } from '../../../src/parsing/formats/registry.ts';
import { defaultParseLimits } from '../../../src/parsing/limits.ts';
import t from '../../support/tap.ts';
import { parseFailureOf, parseInProcess } from '../parse-in-process.ts';

t.test('each kind has one entry with extensions and a media type', async (t) => {
  const kinds = formats.map(({ kind }) => kind);
  t.same(kinds, [...new Set(kinds)]);
  for (const { kind, extensions, mediaType } of formats) {
    t.match(kind, /^[a-z\d-]{1,32}$/);
    t.ok(extensions.length > 0, kind);
    for (const extension of extensions) t.match(extension, /^[a-z\d]{1,12}$/, kind);
    t.match(mediaType, /^[a-z]+\/[a-z\d.+-]+$/, kind);
  }
});

t.test('an extension that decides the format belongs to only one', async (t) => {
  const deciding = formats.filter((format) => format.container === 'text' && format.isDecidedByExtension);
  const extensions = deciding.flatMap((format) => format.extensions);
  t.same(extensions, [...new Set(extensions)]);
  for (const { kind, extensions } of deciding) {
    for (const extension of extensions) {
      const detected = await detectDocument(Buffer.from('[1]'), `a.${extension}`, defaultParseLimits);
      t.equal(detected.format.kind, kind, extension);
    }
  }
});

t.test('a text with the extension of a binary format remains a text', async (t) => {
  for (const { extensions, container } of formats) {
    if (container === 'markup' || container === 'text') continue;
    for (const extension of extensions)
      t.equal((await parseInProcess(Buffer.from('words'), `a.${extension}`)).kind, 'text', extension);
  }
});

t.test('the last format of text accepts every text', async (t) => {
  t.equal(formats.at(-1)?.kind, 'text');
  t.equal((await parseInProcess(Buffer.from('words'))).kind, 'text');
  t.equal((await parseFailureOf(Buffer.from([0, 1, 2, 3, 255]))).code, 'unsupported');
});
