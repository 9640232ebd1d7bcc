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

/** Catalog in another language with the entries of the English one. */
export type Translation<English extends Catalog> = {
  readonly [Key in keyof English]: English[Key] extends string ? string : PluralForms;
};

/** Parts of the dashboard whose code is loaded together. */
export type Area =
  | 'administration'
  | 'answers'
  | 'audit'
  | 'billing'
  | 'collections'
  | 'components'
  | 'console'
  | 'curations'
  | 'document'
  | 'documents'
  | 'keys'
  | 'models'
  | 'overlays'
  | 'overview'
  | 'results'
  | 'roles'
  | 'searchOptions'
  | 'search'
  | 'server'
  | 'settings'
  | 'shell'
  | 'signIn'
  | 'sources'
  | 'team'
  | 'upload'
  | 'usage'
  | 'webhooks';

/** All texts of a language. */
export type Catalogs = Readonly<Record<Area, Catalog>>;
