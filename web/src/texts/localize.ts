import type { Area, Catalog, Catalogs } from './catalogs.ts';
import { type Language, language } from './language.ts';

/** English is part of the code of the pages. */
const translations: Readonly<
  Record<Exclude<Language, 'en'>, () => Promise<{ readonly catalogs: Catalogs }>>
> = {
  de: () => import('./de.ts'),
  es: () => import('./es.ts'),
  fr: () => import('./fr.ts'),
  ja: () => import('./ja.ts'),
};

/** Texts of another language, after they are loaded. */
let catalogs: Catalogs | null = null;
/** Texts of the modules that are evaluated before. */
const localized = new Map<Area, Record<string, Catalog[string]>>();

/** Texts of an area in the language of the dashboard. The type has the English texts, so that parameters are checked. */
export function localize<const English extends Catalog>(area: Area, english: English): English {
  // A translation has the type of the English catalog; a test compares the parameters.
  const texts = { ...english, ...catalogs?.[area] };
  localized.set(area, texts);
  return texts;
}

/**
 * Loads the language of the dashboard before anything is displayed. Code of the first load is evaluated before and must
 * read its texts later, in functions. Errors: the file cannot be loaded; the texts stay English.
 */
export async function loadTranslation(): Promise<void> {
  if (language === 'en') return;
  catalogs = (await translations[language]()).catalogs;
  document.documentElement.lang = language;
  for (const [area, texts] of localized) Object.assign(texts, catalogs[area]);
}
