import type { ComponentChildren } from 'preact';

/** In a sentence of the server: page of the documentation, path, name of a setting, or code between backticks. */
const codePattern =
  /(?<=^|[\s("“])(?:docs\/[\w/-]+\.md|\/[^\s,;()"“”]*[^\s,;()"“”.:]|QUARRY_[A-Z0-9_]+|`[^`]+`)/g;

/**
 * A sentence of the server, which begins with a small letter. Paths and names of settings stay as they are, because they
 * are copied, and pages of the documentation are links.
 */
export function CheckDetail({ text }: { readonly text: string }) {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const { 0: code, index } of text.matchAll(codePattern)) {
    parts.push(index === end ? '' : sentencePart(text.slice(end, index), end === 0), toCode(code));
    end = index + code.length;
  }
  parts.push(sentencePart(text.slice(end), end === 0));
  return <>{parts}</>;
}

function toCode(code: string): ComponentChildren {
  const guide = /^docs\/(.*)\.md$/.exec(code)?.[1];
  return guide === undefined ? (
    <code>{code.replaceAll('`', '')}</code>
  ) : (
    <a href={`/docs/${guide}`} target="_blank" rel="noreferrer">
      {code}
    </a>
  );
}

/** Only an ordinary word gets a capital letter: `node:http` is a name. */
function sentencePart(text: string, isFirst: boolean): string {
  return isFirst && /^[a-z]+(?:[\s,.;]|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
