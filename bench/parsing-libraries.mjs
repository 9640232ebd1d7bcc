/**
 * Compares the XML, CSV, charset, language and BMP code of src/parsing with packages that are not dependencies.
 * docs/decisions/parsing-libraries.md has the command and the results.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [candidates, documents] = process.argv.slice(2);
const require = createRequire(join(candidates, 'index.js'));
const load = (name) =>
  import(pathToFileURL(name.startsWith('.') ? join(candidates, name) : require.resolve(name)).href);
const own = (path) => import(new URL(`../dist/${path}`, import.meta.url).href);
const { defaultParseLimits: limits } = await own('src/parsing/limits.js');

/** Returns the least milliseconds of five runs. */
function time(run) {
  const times = Array.from({ length: 5 }, () => {
    const started = process.hrtime.bigint();
    run();
    return Number(process.hrtime.bigint() - started) / 1e6;
  });
  return Math.min(...times).toFixed(1);
}

function attempt(run) {
  try {
    return run();
  } catch (error) {
    return `error: ${String(error.message).split('\n')[0].slice(0, 60)}`;
  }
}

const isFailed = (result) => typeof result === 'string' && result.startsWith('error: ');

function report(title, rows) {
  console.log(`\n## ${title}`);
  for (const row of rows) console.log(row);
}

const trickyXml = {
  'ampersand in text': '<a>R&D</a>',
  'entity of HTML': '<a>x&nbsp;y</a>',
  'undeclared prefix': '<w:a><w:b/></w:a>',
  'control character': '<a>x\u0001y</a>',
  'attribute without quotes': '<a b=c>x</a>',
  'attribute twice': '<a b="1" b="2">x</a>',
  'text after the root': '<a>x</a>y',
  'space before the declaration': ' <?xml version="1.0"?><a>x</a>',
  'internal DTD with an entity': '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
  'crossed elements': '<a><b></a></b>',
  truncated: '<a><b>x</b>',
};

const mergeTokens = (tokens) => tokens.join('\u0001').replaceAll('\r\n', '\n').replaceAll('\r', '\n');

function readOwnXml(XmlReader, bytes) {
  const reader = new XmlReader(bytes, 'part', 256);
  const tokens = [];
  for (let token = reader.next(); token !== 'end'; token = reader.next())
    tokens.push(token === 'text' ? reader.text : `${token} ${reader.name}`);
  return tokens;
}

function readSaxesXml(SaxesParser, bytes) {
  const tokens = [];
  const parser = new SaxesParser();
  const local = (name) => name.slice(name.indexOf(':') + 1);
  let depth = 0;
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name }) => {
    depth += 1;
    tokens.push(`open ${local(name)}`);
  });
  parser.on('closetag', ({ name }) => {
    depth -= 1;
    tokens.push(`close ${local(name)}`);
  });
  for (const event of ['text', 'cdata']) parser.on(event, (text) => depth > 0 && tokens.push(text));
  parser.write(new TextDecoder().decode(bytes)).close();
  return tokens;
}

/** Returns the XML parts of all documents that are zip archives. */
function listXmlParts(ZipArchive) {
  return listDocuments(/\.(docx|pptx|xlsx|odt|odp|ods|epub)$/i).flatMap((bytes) => {
    const archive = attempt(() => new ZipArchive(bytes, limits));
    if (isFailed(archive)) return [];
    const names = archive.listNames().filter((name) => /\.(xml|rels|opf)$/.test(name));
    return names
      .map((name) => attempt(() => archive.read(name)))
      .filter((part) => part instanceof Uint8Array);
  });
}

async function compareXml() {
  const { XmlReader } = await own('src/parsing/xml-reader.js');
  const { ZipArchive } = await own('src/parsing/zip.js');
  const { SaxesParser } = await load('saxes');
  const readOwn = (bytes) => readOwnXml(XmlReader, bytes);
  const readSaxes = (bytes) => readSaxesXml(SaxesParser, bytes);
  const parts = listXmlParts(ZipArchive);
  let [same, onlyOwn, onlySaxes, bothFail, differ] = [0, 0, 0, 0, 0];
  const reasons = new Map();
  for (const part of parts) {
    const [a, b] = [attempt(() => readOwn(part)), attempt(() => readSaxes(part))];
    if (isFailed(a) && isFailed(b)) bothFail += 1;
    else if (isFailed(b)) {
      onlyOwn += 1;
      reasons.set(b, (reasons.get(b) ?? 0) + 1);
    } else if (isFailed(a)) {
      onlySaxes += 1;
      reasons.set(`own ${a}`, (reasons.get(`own ${a}`) ?? 0) + 1);
    } else if (mergeTokens(a) === mergeTokens(b)) same += 1;
    else differ += 1;
  }
  const good = parts.filter((part) => !isFailed(attempt(() => readSaxes(part))));
  report('XML', [
    `parts ${parts.length}, bytes ${parts.reduce((sum, part) => sum + part.length, 0)}`,
    `same ${same}, differ ${differ}, only own reads ${onlyOwn}, only saxes reads ${onlySaxes}, none ${bothFail}`,
    ...[...reasons].map(([reason, count]) => `  ${count} x ${reason}`),
    `ms: own ${time(() => good.forEach(readOwn))}, saxes ${time(() => good.forEach(readSaxes))}`,
    ...Object.entries(trickyXml).map(([name, xml]) => {
      const shown = [readOwn, readSaxes].map((read) => JSON.stringify(attempt(() => read(Buffer.from(xml)))));
      return `  ${name}: own ${shown[0]} | saxes ${shown[1]}`;
    }),
  ]);
}

function listDocuments(pattern) {
  if (documents === undefined) return [];
  return readdirSync(documents)
    .filter((name) => pattern.test(name))
    .map((name) => join(documents, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path));
}

async function compareCsv() {
  const { parseDelimited } = await own('src/parsing/formats/text/delimited.js');
  const { parse } = await load('csv-parse/sync');
  const readOwn = (text) =>
    [...parseDelimited({ text, charset: 'utf-8', warning: null }, ',', { limits })].join('\n').split('\n');
  const options = {
    delimiter: ',',
    recordDelimiter: ['\r\n', '\n', '\r'],
    relaxColumnCount: true,
    relaxQuotes: true,
  };
  const readPackage = (text) =>
    parse(text, options)
      .map((fields) =>
        fields
          .map((field) => field.replace(/\s*[\t\r\n]+\s*/g, ' '))
          .join('\t')
          .trimEnd(),
      )
      .filter((row) => row !== '');
  const cases = {
    'RFC 4180': 'a,b\r\n"x, y","say ""hi"""\r\n',
    'line break in a field': 'a,"b\nc",d\n',
    'quote inside a field': 'a,5" pipe,b\n',
    'text after a closing quote': 'a,"b"c,d\n',
    'unclosed quote': 'a,"b,c\nd,e\n',
    'mixed line ends': 'a,b\r\nc,d\ne,f\rg,h',
    'ragged rows': 'a\nb,c,d\n\n,\n',
  };
  const large = Array.from({ length: 200_000 }, (_, i) => `${i},name ${i},"a, b ""c""",${i * 2.5}`).join(
    '\n',
  );
  report('CSV', [
    ...Object.entries(cases).map(([name, text]) => {
      const [a, b] = [attempt(() => readOwn(text)), attempt(() => readPackage(text))].map((one) =>
        JSON.stringify(one),
      );
      return `  ${name}: ${a === b ? `same ${a}` : `own ${a} | csv-parse ${b}`}`;
    }),
    `ms for ${large.length} bytes: own ${time(() => readOwn(large))}, csv-parse ${time(() => readPackage(large))}`,
  ]);
}

async function compareCharsets() {
  const { decodeText } = await own('src/parsing/encoding/charset.js');
  const { charsetCases, encoded } = await own('test/parsing/encoding/charset-cases.js');
  const chardet = (await load('chardet')).default;
  const jschardet = (await load('jschardet')).default;
  const iconv = (await load('iconv-lite')).default;
  const readers = {
    own: (bytes) => decodeText(bytes).text,
    'chardet + iconv-lite': (bytes) => iconv.decode(bytes, chardet.detect(bytes) ?? 'utf-8'),
    'jschardet + iconv-lite': (bytes) => iconv.decode(bytes, jschardet.detect(bytes).encoding ?? 'utf-8'),
  };
  const short = charsetCases.flatMap(([text, charsets]) => charsets.map((charset) => [text, charset]));
  const long = short.map(([text, charset]) => [Array(20).fill(text).join('\n'), charset]);
  const rows = [];
  for (const [name, read] of Object.entries(readers)) {
    const counts = [short, long].map((cases) => {
      const inputs = cases.map(([text, charset]) => [text, Buffer.from(encoded(text, charset))]);
      const right = inputs.filter(
        ([text, bytes]) => attempt(() => read(bytes).normalize() === text.normalize()) === true,
      );
      return `${right.length} of ${cases.length}`;
    });
    const inputs = long.map(([text, charset]) => Buffer.from(encoded(text, charset)));
    const ms = time(() => {
      for (const bytes of inputs) attempt(() => read(bytes));
    });
    rows.push(`${name}: short ${counts[0]}, 20 times as long ${counts[1]}, ms ${ms}`);
  }
  const [decoder, ibm850] = [new TextDecoder('koi8-r'), Buffer.alloc(4_000_000, 0xc1)];
  rows.push(
    `decode 4 MB: TextDecoder ${time(() => decoder.decode(ibm850))} ms, iconv-lite ${time(() => iconv.decode(ibm850, 'koi8-r'))} ms`,
  );
  rows.push(
    `iconv-lite has johab: ${iconv.encodingExists('johab')}, hz: ${iconv.encodingExists('hz-gb-2312')}, iso-2022-jp: ${iconv.encodingExists('iso-2022-jp')}, iso-2022-kr: ${iconv.encodingExists('iso-2022-kr')}, utf-7: ${iconv.encodingExists('utf-7')}, cp850: ${iconv.encodingExists('cp850')}`,
  );
  report('Charsets', rows);
}

// cspell:disable
/** The first article of the Universal Declaration of Human Rights in languages that the tests lack. */
const declarations = [
  [
    'Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.',
    'it',
  ],
  [
    'Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.',
    'pt',
  ],
  [
    'Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.',
    'nl',
  ],
  [
    'Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft och samvete och bör handla gentemot varandra i en anda av broderskap.',
    'sv',
  ],
  [
    'Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvittighed, og de bør handle mod hverandre i en broderskabets ånd.',
    'da',
  ],
  [
    'Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.',
    'fi',
  ],
  [
    'Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.',
    'pl',
  ],
  [
    'Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.',
    'hu',
  ],
  [
    'Toate ființele umane se nasc libere și egale în demnitate și în drepturi. Ele sunt înzestrate cu rațiune și conștiință și trebuie să se comporte unele față de altele în spiritul fraternității.',
    'ro',
  ],
  [
    'Semua orang dilahirkan merdeka dan mempunyai martabat dan hak yang sama. Mereka dikaruniai akal dan hati nurani dan hendaknya bergaul satu sama lain dalam persaudaraan.',
    'id',
  ],
  [
    'Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều được tạo hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình bằng hữu.',
    'vi',
  ],
  [
    'Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю.',
    'uk',
  ],
];
// cspell:enable

async function compareLanguages() {
  const { detectLanguage } = await own('src/parsing/encoding/language.js');
  const { languageCases } = await own('test/parsing/encoding/language-cases.js');
  const { francAll } = await load('franc-min');
  const tinyld = await load('tinyld');
  const { eld } = await load('./node_modules/eld/src/entries/static.small.js');
  const toTwo = JSON.parse(
    '{"eng":"en","deu":"de","fra":"fr","spa":"es","ita":"it","por":"pt","nld":"nl","swe":"sv","dan":"da","nob":"no","nno":"no","fin":"fi","pol":"pl","ces":"cs","slk":"sk","hun":"hu","ron":"ro","hrv":"hr","bos":"hr","srp":"sr","tur":"tr","ind":"id","vie":"vi","cat":"ca","est":"et","lit":"lt","lvs":"lv","rus":"ru","ukr":"uk","bul":"bg","ell":"el","heb":"he","arb":"ar","pes":"fa","urd":"ur","hin":"hi","cmn":"zh","jpn":"ja","kor":"ko","tha":"th","bel":"be"}',
  );
  const readers = {
    own: detectLanguage,
    'franc-min': (text) => toTwo[francAll(text)[0]?.[0]] ?? null,
    tinyld: (text) => tinyld.detect(text) || null,
    eld: (text) => eld.detect(text).language || null,
    'eld, only reliable': (text) => {
      const result = eld.detect(text);
      return result.isReliable() ? result.language : null;
    },
  };
  const allCases = [...languageCases, ...declarations];
  const written = allCases.filter(([, language]) => language !== null);
  const without = allCases.filter(([, language]) => language === null);
  const rows = Object.entries(readers).map(([name, read]) => {
    const found = written.map(([text, language]) => [language, read(text)]);
    const right = found.filter(([language, one]) => one === language).length;
    const wrong = found.filter(([language, one]) => one !== null && one !== language);
    const invented = without.filter(([text]) => read(text) !== null).length;
    const long = written.map(([text]) => text.repeat(100)).slice(0, 10);
    return `${name}: right ${right}, wrong ${wrong.length} (${wrong.join(' ')}), none ${written.length - right - wrong.length} of ${written.length}; invented ${invented} of ${without.length}; ms ${time(() => long.forEach(read))}`;
  });
  report('Languages', rows);
}

/** Returns the bitmap with a palette of full length, as the header of the test cases promises. */
function completePalette(bytes) {
  const bits = bytes[28];
  if (bits > 8) return bytes;
  const start = Buffer.from(bytes).readUInt32LE(10);
  const padding = Buffer.alloc(54 + 4 * 2 ** bits - start);
  const whole = Buffer.concat([bytes.subarray(0, start), padding, bytes.subarray(start)]);
  whole.writeUInt32LE(start + padding.length, 10);
  return whole;
}

async function compareBitmaps() {
  const { decodeBmp } = await own('src/parsing/formats/image/bmp.js');
  const { bitmapCases } = await own('test/parsing/formats/image/bmp-cases.js');
  const bmpJs = (await load('bmp-js')).default;
  const bmpTs = await load('bmp-ts');
  const fast = await load('fast-bmp');
  const pick = (pixels, step, offset) =>
    Array.from({ length: pixels.length / step }, (_, i) => pixels[i * step + offset]);
  const readers = {
    own: (bytes) => pick(decodeBmp(bytes).pixels, 4, 0),
    'bmp-js': (bytes) => pick(bmpJs.decode(Buffer.from(bytes)).data, 4, 3),
    'bmp-ts': (bytes) => pick(bmpTs.decode(Buffer.from(bytes), { toRGBA: true }).data, 4, 0),
    'fast-bmp': (bytes) => {
      const image = fast.decode(bytes);
      return pick(image.data, image.channels, 0);
    },
  };
  const complete = bitmapCases.map(([title, bytes, expected]) => [title, completePalette(bytes), expected]);
  for (const [name, read] of Object.entries(readers)) {
    const isRight = ([, bytes, expected]) =>
      JSON.stringify(attempt(() => read(bytes))) === JSON.stringify(expected);
    const wrong = complete.filter((one) => !isRight(one));
    const large = Buffer.concat([
      Buffer.from(bitmapCases.find(([title]) => title === '24 bits')[1].subarray(0, 54)),
      Buffer.alloc(2_000 * 2_000 * 3, 7),
    ]);
    large.writeInt32LE(2_000, 18);
    large.writeInt32LE(2_000, 22);
    const decodeOnly = {
      own: decodeBmp,
      'bmp-js': (b) => bmpJs.decode(b),
      'bmp-ts': (b) => bmpTs.decode(b, { toRGBA: true }),
      'fast-bmp': fast.decode,
    }[name];
    report(`BMP ${name}`, [
      `right ${complete.length - wrong.length} of ${complete.length}, with a short palette ${bitmapCases.filter(isRight).length}`,
      ...wrong.map(([title, bytes]) => `  ${title}: ${JSON.stringify(attempt(() => read(bytes)))}`),
      `ms for 2000 x 2000, 24 bits: ${time(() => attempt(() => decodeOnly(large)))} ${String(attempt(() => decodeOnly(large))).slice(0, 70)}`,
    ]);
  }
}

for (const compare of [compareXml, compareCsv, compareCharsets, compareLanguages, compareBitmaps]) {
  await compare();
}
