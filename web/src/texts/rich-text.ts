import type { ComponentChildren } from 'preact';
import type { ParameterNames } from './format-text.ts';

type ElementNames<Text extends string> = Text extends `${string}</${infer Name}>${infer Rest}`
  ? Name | ElementNames<Rest>
  : never;

type Wrap = (children: ComponentChildren) => ComponentChildren;

type RichValues<Text extends string> = Readonly<
  Record<ParameterNames<Text>, ComponentChildren> & Record<ElementNames<Text>, Wrap>
>;

/**
 * Text with elements: `{name}` is replaced by an element or a value, and `<name>…</name>` by the element that the
 * function `name` returns for the content. A catalog contains no HTML, so a text cannot create other elements.
 */
export function rich<const Text extends string>(text: Text, values: RichValues<Text>): ComponentChildren {
  return fillParts(text, values as Readonly<Record<string, ComponentChildren | Wrap>>);
}

function fillParts(
  text: string,
  values: Readonly<Record<string, ComponentChildren | Wrap>>,
): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(/\{(\w+)\}|<(\w+)>(.*?)<\/\2>/g)) {
    const [whole, parameter, element, content = ''] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    const value = values[parameter ?? element ?? ''];
    parts.push(typeof value === 'function' ? value(fillParts(content, values)) : value);
  }
  return [...parts, text.slice(end)];
}
