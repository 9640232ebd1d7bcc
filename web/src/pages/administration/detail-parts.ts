/** Part of a sentence of the server: text, code to copy, or the file of a page of the documentation. */
export interface DetailPart {
  readonly kind: 'text' | 'code' | 'guide';
  readonly text: string;
}

/** Page of the documentation, path, name of a setting, or code between backticks. */
const codePattern =
  /(?<=^|[\s("“])(?:docs\/[\w/-]+\.md|\/[^\s,;()"“”]*[^\s,;()"“”.:]|QUARRY_[A-Z0-9_]+|`[^`]+`)/g;

/**
 * Splits a sentence of the server, which begins with a small letter. The first letter is capitalized if it belongs to an
 * ordinary word; paths, settings and names such as `node:http` stay as they are, because they are copied.
 */
export function splitDetail(detail: string): readonly DetailPart[] {
  const sentence = /^[a-z]+(?:[\s,.;]|$)/.test(detail)
    ? detail.charAt(0).toUpperCase() + detail.slice(1)
    : detail;
  const parts: DetailPart[] = [];
  let end = 0;
  for (const { 0: code, index } of sentence.matchAll(codePattern)) {
    parts.push({ kind: 'text', text: sentence.slice(end, index) });
    parts.push(
      code.startsWith('docs/')
        ? { kind: 'guide', text: code }
        : { kind: 'code', text: code.replaceAll('`', '') },
    );
    end = index + code.length;
  }
  parts.push({ kind: 'text', text: sentence.slice(end) });
  return parts.filter(({ text }) => text !== '');
}
