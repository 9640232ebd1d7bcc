import { buildZip } from './zip-fixtures.ts';

/** Documents that link to foreign resources. */

export interface LinkTargets {
  /** File of the server; linked as text and as image. */
  readonly secretFile: string;
  /** Address of a server on the loopback interface, without a trailing slash. */
  readonly address: string;
}

const spaces = [
  'office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"',
  'text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"',
  'draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"',
  'svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"',
  'xlink="http://www.w3.org/1999/xlink"',
]
  .map((space) => `xmlns:${space}`)
  .join(' ');

/** Builds an OpenDocument text with linked sections and linked images. */
export function buildOdtWithLinks({ secretFile, address }: LinkTargets): Uint8Array {
  const section = (name: string, target: string) =>
    `<text:section text:name="${name}"><text:section-source xlink:type="simple" xlink:show="embed" xlink:href="${target}" text:filter-name="Text"/><text:p>of ${name}</text:p></text:section>`;
  const image = (target: string) =>
    `<text:p><draw:frame svg:width="5cm" svg:height="5cm" text:anchor-type="as-char"><draw:image xlink:href="${target}" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"/></draw:frame></text:p>`;
  const body = [
    '<text:p>The first words.</text:p>',
    section('file', `file://${secretFile}`),
    section('address', `${address}/section.txt`),
    image(`${address}/image.png`),
    image(`file://${secretFile}`),
    image(`file://${secretFile}.png`),
    '<text:p>The last words.</text:p>',
  ].join('');
  const mediaType = 'application/vnd.oasis.opendocument.text';
  return buildZip({
    mimetype: mediaType,
    'META-INF/manifest.xml': `<?xml version="1.0" encoding="UTF-8"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2"><manifest:file-entry manifest:full-path="/" manifest:media-type="${mediaType}"/><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>`,
    'content.xml': `<?xml version="1.0" encoding="UTF-8"?><office:document-content ${spaces} office:version="1.2"><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
  });
}

const drawingSpaces = [
  'w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"',
  'r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"',
  'wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"',
  'a="http://schemas.openxmlformats.org/drawingml/2006/main"',
  'pic="http://schemas.openxmlformats.org/drawingml/2006/picture"',
]
  .map((space) => `xmlns:${space}`)
  .join(' ');

/** Builds a Word file with fields that include text and images, and with linked images. */
export function buildDocxWithLinks({ secretFile, address }: LinkTargets): Uint8Array {
  const field = (instruction: string) =>
    `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> ${instruction} </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>field</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`;
  const image = (id: number) =>
    `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="1800000" cy="1800000"/><wp:docPr id="${id}" name="image ${id}"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="${id}" name="image"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:link="link${id}"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="1800000" cy="1800000"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`;
  const targets = [`${address}/linked.png`, `file://${secretFile}`, `file://${secretFile}.png`];
  const body = [
    '<w:p><w:r><w:t>The first words.</w:t></w:r></w:p>',
    field(`INCLUDETEXT "file://${secretFile}"`),
    field(`INCLUDEPICTURE "${address}/field.png" \\d`),
    ...targets.map((_, i) => image(i)),
    '<w:p><w:r><w:t>The last words.</w:t></w:r></w:p>',
  ].join('');
  const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const packages = 'http://schemas.openxmlformats.org/package/2006';
  const links = targets.map(
    (target, i) =>
      `<Relationship Id="link${i}" Type="${relations}/image" Target="${target}" TargetMode="External"/>`,
  );
  return buildZip({
    '[Content_Types].xml': `<?xml version="1.0"?><Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    '_rels/.rels': `<?xml version="1.0"?><Relationships xmlns="${packages}/relationships"><Relationship Id="rId1" Type="${relations}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `<?xml version="1.0"?><w:document ${drawingSpaces}><w:body>${body}</w:body></w:document>`,
    'word/_rels/document.xml.rels': `<?xml version="1.0"?><Relationships xmlns="${packages}/relationships">${links.join('')}</Relationships>`,
  });
}
