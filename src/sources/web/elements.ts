import type { Handler, ParserOptions } from 'htmlparser2';
import { AppError } from '../../core/app-error.ts';

/** Parts of a text, in order. */
type TextParts = Iterable<string> | AsyncIterable<string>;

/** Characters that are parsed in one turn of the event loop. */
const turnUnits = 65_536;
const depthMax = 64;

/** The first call loads the parser, which a server without sources of this kind does not need. */
export async function parseMarkup(
  parts: TextParts,
  handler: Partial<Handler>,
  options: ParserOptions = {},
): Promise<void> {
  const { Parser } = await import('htmlparser2');
  const parser = new Parser(handler, options);
  for await (const text of parts)
    for (let at = 0; at < text.length; at += turnUnits) {
      parser.write(text.slice(at, at + turnUnits));
      await new Promise((resolve) => setImmediate(resolve));
    }
  parser.end();
}

/** An element of an XML file with the text directly in it. */
export interface TextElement {
  /** Local names from the root, such as `urlset/url/loc`, in lower case. */
  readonly path: string;
  readonly attributes: Readonly<Record<string, string>>;
  text: string;
  /** False for an empty element, and for one that the end of the text cuts. */
  hasEndTag: boolean;
}

/** Calls `onElement` at the end of each element. Errors: `bad_gateway` for too many levels. */
export async function readElements(
  parts: TextParts,
  onElement: (element: TextElement) => void,
): Promise<void> {
  const open: TextElement[] = [];
  await parseMarkup(
    parts,
    {
      onopentag(name, attributes) {
        const local = name.slice(name.indexOf(':') + 1).toLowerCase();
        const parent = open.at(-1);
        if (open.length >= depthMax)
          throw new AppError('bad_gateway', `The XML has more than ${depthMax} levels.`);
        const path = parent === undefined ? local : `${parent.path}/${local}`;
        open.push({ path, attributes, text: '', hasEndTag: false });
      },
      ontext(text) {
        const element = open.at(-1);
        if (element !== undefined) element.text += text;
      },
      onclosetag(_name, isImplied) {
        const element = open.pop();
        if (element === undefined) return;
        element.hasEndTag = !isImplied;
        onElement(element);
        // Content of the type `xhtml` is in elements.
        const parent = open.at(-1);
        if (parent !== undefined && open.length > 2) parent.text += `${element.text} `;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
}
