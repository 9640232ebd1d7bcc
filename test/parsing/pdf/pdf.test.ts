import t from '../../support/tap.ts';
import { parseFailureOf, parseInProcess } from '../parse-in-process.ts';
import { buildPdf } from '../pdf-fixtures.ts';

const english =
  'The house of the old man was on the hill, and it was not far from the river that he had known as a boy.';

t.test('a PDF is parsed to pages, title and language', async (t) => {
  const document = await parseInProcess(
    buildPdf([english, 'Second page'], { title: 'A report' }),
    'report.pdf',
  );
  t.match(document, {
    kind: 'pdf',
    contentType: 'application/pdf',
    unordered: false,
    title: 'A report',
    language: 'en',
  });
  t.same(document.pages, [english, 'Second page']);
});

t.test('a title that only the XMP metadata contains is used', async (t) => {
  const packet = (title: string, schema = 'pdf="http://ns.adobe.com/pdf/1.3/"') =>
    `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="r">
<rdf:Description xmlns:dc="d" xmlns:${schema}><dc:title><rdf:Alt><rdf:li xml:lang="x-default">${title}</rdf:li>
<rdf:li xml:lang="de">Felder</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`;
  const pdf = (...packets: string[]) => {
    const objects = packets.map(
      (xml) => `<</Type/Metadata/Subtype/XML/Length ${xml.length}>>\nstream\n${xml}\nendstream`,
    );
    return buildPdf([english], { objects });
  };
  const old = packet('An old title');
  const picture = packet('A picture in it', 'tiff="http://ns.adobe.com/tiff/1.0/"');
  t.equal(
    (await parseInProcess(pdf(old, packet('Fields &amp; meadows'), picture))).title,
    'Fields & meadows',
  );
  t.equal((await parseInProcess(pdf(picture))).title, null);
  t.equal((await parseInProcess(pdf(packet('<b>broken')))).title, null);
});

t.test(
  'a PDF page without text is an empty page with a warning, and an owner password is ignored',
  async (t) => {
    const scanned = await parseInProcess(buildPdf(['one', '', '', 'four', '']));
    t.same(scanned.pages, ['one', '', '', 'four', '']);
    t.match(scanned.warnings, [/2-3, 5/]);
    const ownerOnly = await parseInProcess(buildPdf(['open to all'], { userPassword: '' }));
    t.same(ownerOnly.pages, ['open to all']);
  },
);

t.test('text outside the crop box of a PDF page is not read', async (t) => {
  const bytes = buildPdf(['inside'], {
    mediaBox: [0, 0, 1_200, 792],
    cropBox: [0, 0, 612, 792],
    extraText: { text: 'outside', x: 900, y: 400 },
  });
  t.same((await parseInProcess(bytes)).pages, ['inside']);
  const whole = buildPdf(['inside'], {
    mediaBox: [0, 0, 1_200, 792],
    extraText: { text: 'outside', x: 900, y: 400 },
  });
  t.match((await parseInProcess(whole)).pages[0], /outside/);
});

t.test('a word hyphenated at the end of a PDF line is joined', async (t) => {
  const document = await parseInProcess(buildPdf(['the most effi-\ncient way of all']));
  t.match(document.pages[0], /efficient way/);
});

t.test('a PDF with a wrong page count is read as far as its pages go, or rejected', async (t) => {
  const more = await parseInProcess(buildPdf(['a real page'], { claimedPageCount: 3 }));
  t.equal(more.pages[0], 'a real page');
  t.equal((await parseFailureOf(buildPdf(['a real page'], { claimedPageCount: 90_000 }))).code, 'too_large');
});

t.test('text is extracted from a PDF page of extreme size', async (t) => {
  const document = await parseInProcess(
    buildPdf(['vast'], { mediaBox: [0, 0, 1_000_000_000, 1_000_000_000] }),
  );
  t.same(document.pages, ['vast']);
});

t.test('a PDF without a cross-reference table is repaired', async (t) => {
  const bytes = Buffer.from(buildPdf(['still here']));
  const cut = bytes.subarray(0, bytes.indexOf('xref\n'));
  const repaired = await parseInProcess(cut);
  t.same(repaired.pages, ['still here']);
  t.match(repaired.warnings, [/damaged/]);
});
