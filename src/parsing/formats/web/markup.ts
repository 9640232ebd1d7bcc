import type { SourceFile } from '../../source-file.ts';

/** Detection of HTML, XHTML and XML by the start of the text. */

interface MarkupStart {
  readonly hasXmlDeclaration: boolean;
  /** Text after the XML declaration and comments. */
  readonly body: string;
}

const commentsAndSpaces = /^(?:\s+|<!--[\s\S]*?-->)+/;

function readStart({ head }: SourceFile): MarkupStart {
  const start = (head ?? '').replace(commentsAndSpaces, '');
  const declaration = /^<\?xml\b[^>]*\?>/.exec(start);
  if (declaration === null) return { hasXmlDeclaration: false, body: start };
  return { hasXmlDeclaration: true, body: start.slice(declaration[0].length).replace(commentsAndSpaces, '') };
}

function startsPage(body: string): boolean {
  return /^<(?:!doctype\s+html|html|head|body|title|meta|script|link)\b/i.test(body);
}

export function isXml(file: SourceFile): boolean {
  return readStart(file).hasXmlDeclaration;
}

export function isXhtml(file: SourceFile): boolean {
  const { hasXmlDeclaration, body } = readStart(file);
  return hasXmlDeclaration && startsPage(body);
}

export function isHtml(file: SourceFile, isNamed: boolean): boolean {
  const { extension } = file;
  const { hasXmlDeclaration, body } = readStart(file);
  if (hasXmlDeclaration) return false;
  // Markdown may contain any element.
  if (extension === 'md' || extension === 'markdown') return /^<(?:!doctype\s+html|html)\b/i.test(body);
  if (startsPage(body) || (isNamed && /^<[a-z!]/i.test(body))) return true;
  const isFragment = /^<(?:div|p|h[1-6]|table|ul|ol|section|article|main|span|center|font|br)\b[^>]*>/i.test(
    body,
  );
  return isFragment && (extension === null || extension === 'txt');
}

/** Returns the charset named by the XML declaration or by a `meta` element. */
export function findDeclaredCharset(head: string): string | null {
  const declaration = /^\s*<\?xml[^>]*encoding=["']([\w.:-]+)/.exec(head);
  return declaration?.[1] ?? /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1] ?? null;
}
