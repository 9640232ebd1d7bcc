import t from '../../../support/tap.ts';
import { utf8 } from '../../byte-fixtures.ts';
import { parseInProcess } from '../../parse-in-process.ts';

t.test(
  'HTML: visible text without scripts, cells separated by tabs, headings marked, entities decoded',
  async (t) => {
    const source = `<!doctype html><html lang="fr"><head><title>La  page</title><script>var x = "<p>no</p>";</script></head>
    <body><h2>Un <em>titre</em></h2><p>Texte &eacute;l&#233;gant<br>fin</p><table><tr><td>a</td><td>b</td></tr></table>
    <pre>x
  y</pre><ul><li>un<li>deux</ul></body></html>`;
    const document = await parseInProcess(utf8(source), 'page.html');
    t.match(document, { kind: 'html', title: 'La page', language: 'fr', headings: true });
    t.equal(document.pages[0], '## Un titre\n\nTexte élégant\nfin\n\na\tb\n\nx\n  y\n\nun\ndeux');
  },
);

t.test(
  'HTML: table rows are lines regardless of their contents, and layout tables keep their paragraphs',
  async (t) => {
    const long = 'Many words that go on for some time. '.repeat(8).trim();
    const tables: readonly (readonly [string, string])[] = [
      [
        '<tr><td><p>Granite</p></td><td><p>6.5</p><p>hard</p></td><td><ul><li>x<li>y</ul></td></tr>',
        'Granite\t6.5 hard\tx y',
      ],
      ['<tr><th>a<th>b<tr><td><div>c</div><td><div>d</div>', 'a\tb\nc\td'],
      ['<tr><td>a</td><td></td><td>c</td></tr>', 'a\t\tc'],
      [`<tr><td>1.</td><td><p>${long}</p><p>end</p></td><td>b</td></tr>`, `1.\t${long}\n\nend\n\nb`],
      [`<tr><td><p>one</p><p>two</p></td></tr>`, 'one\n\ntwo'],
      ['<tr><td><h2>Head</h2><p>p</p></td><td>q</td></tr>', '## Head\n\np\n\nq'],
      [
        '<tr><td><table><tr><td><p>in</p></td><td><p>ner</p></td></tr></table></td><td>out</td></tr>',
        'in\tner\n\nout',
      ],
      ['<tr><td>1</td><td><pre>x\n  y</pre></td></tr>', '1\n\nx\n  y'],
    ];
    for (const [source, text] of tables) {
      t.same(
        (await parseInProcess(utf8(`<html><body><table>${source}</table></body></html>`))).pages,
        [text],
        source,
      );
    }
  },
);

t.test('HTML: only hidden elements are skipped', async (t) => {
  const source =
    '<html><body><div style="color:red; Display: none">a<div>b</div></div><p style="display:none">kept, for it may never end' +
    '<span hidden>c</span><ix:header>d</ix:header><div style="display:block">seen</div></body></html>';
  t.same((await parseInProcess(utf8(source))).pages, ['kept, for it may never end\nseen']);
});

t.test('HTML: deeply nested and unclosed elements are parsed in linear time', async (t) => {
  const deep = `<html>${'<div>'.repeat(200_000)}core${'</div>'.repeat(200_000)}`;
  t.same((await parseInProcess(utf8(deep))).pages, ['core']);
  const open = `<html><body>${'<p a="'.repeat(50_000)}`;
  t.equal((await parseInProcess(utf8(open))).kind, 'html');
  const entities = `<html><body><p>${'a&amp;'.repeat(200_000)}`;
  t.equal((await parseInProcess(utf8(entities))).pages[0]?.length, 400_000);
});
