/** Texts of a message whose form depends on a number: one for each plural category of the language. */
export interface PluralForms {
  readonly zero?: string;
  readonly one?: string;
  readonly two?: string;
  readonly few?: string;
  readonly many?: string;
  readonly other: string;
}

/** Texts of one area of the dashboard by key. `{name}` is a parameter, `<name>…</name>` a part in an element. */
export type Catalog = Readonly<Record<string, string | PluralForms>>;

/** Texts of an area in the language of the dashboard. The type has the English texts, so that parameters are checked. */
export function localize<const English extends Catalog>(_area: string, english: English): English {
  return english;
}
