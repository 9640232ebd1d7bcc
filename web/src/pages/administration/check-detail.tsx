import { splitDetail } from './detail-parts.ts';

/** A sentence of the server, with its paths and settings as code, and its pages of the documentation as links. */
export function CheckDetail({ text }: { readonly text: string }) {
  return (
    <>
      {splitDetail(text).map(({ kind, text: part }, i) => {
        if (kind === 'text') return part;
        if (kind === 'code') return <code key={i}>{part}</code>;
        return (
          <a
            key={i}
            href={`/docs/${part.slice('docs/'.length, -'.md'.length)}`}
            target="_blank"
            rel="noreferrer"
          >
            {part}
          </a>
        );
      })}
    </>
  );
}
