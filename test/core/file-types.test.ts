import {
  extensionsOf,
  type FileTypeName,
  fileTypes,
  mayHavePageImages,
  textSyntaxOf,
} from '../../src/core/file-types.ts';
import { formats } from '../../src/parsing/formats/registry.ts';
import t from '../support/tap.ts';

const typeNames = Object.keys(fileTypes) as FileTypeName[];

t.test('every extension of a format has one file type, and the types have no others', async (t) => {
  const listed = typeNames.flatMap(extensionsOf).sort();
  t.same(listed, [...new Set(listed)].sort(), 'no extension is listed twice');
  const isCode = (extension: string) =>
    formats.every(({ kind, extensions }) => kind === 'code' || !extensions.includes(extension));
  const supported = new Set(formats.flatMap(({ extensions }) => extensions));
  t.same(
    [...supported].filter((extension) => !isCode(extension) && !listed.includes(extension)),
    [],
    'every extension of a format other than code is listed in src/core/file-types.ts',
  );
  t.same(
    listed.filter((extension) => !supported.has(extension)),
    [],
    'every listed extension has a format',
  );
});

t.test('the syntax of a text follows from the extension of its path', async (t) => {
  t.equal(textSyntaxOf('a/b.v2/README.MD'), 'markdown');
  t.equal(textSyntaxOf('report.final.PDF'), 'prose');
  t.equal(textSyntaxOf('a.b/LICENSE'), 'prose', 'no extension');
  t.equal(textSyntaxOf('src/main.ts'), null);
  t.equal(textSyntaxOf('table.csv'), null);
  t.equal(textSyntaxOf('trailing.'), null);
});

t.test('only paths whose format has no page images are known to have none', async (t) => {
  for (const { kind, extensions, pageImages } of formats) {
    if (kind === 'code') continue;
    for (const extension of extensions) {
      if (pageImages !== undefined) t.ok(mayHavePageImages(`a/b.${extension}`), extension);
    }
  }
  t.notOk(mayHavePageImages('a.pdf/README.MD'));
  t.ok(mayHavePageImages('a.md/scan'), 'a file without an extension may be a PDF');
});
