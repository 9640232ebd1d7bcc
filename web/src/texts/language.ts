import { readStored, writeStored } from '../browser/stored-values.ts';

/** Languages of the dashboard by their own names. */
export const languageNames = {
  en: 'English',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  ja: '日本語',
} as const;

export type Language = keyof typeof languageNames;

const storageKey = 'quarry.language';

/** Language that the user selected; null to follow the browser. */
export const selectedLanguage: Language | null = toLanguage(readStored('localStorage', storageKey));

/** Selects a language, or null to follow the browser, and reloads the page: modules have constants with texts. */
export function selectLanguage(language: Language | null): void {
  writeStored('localStorage', storageKey, language);
  window.location.reload();
}

function toLanguage(tag: string | null): Language | null {
  const name = tag?.split('-')[0]?.toLowerCase() ?? '';
  return Object.hasOwn(languageNames, name) ? (name as Language) : null;
}

function preferredLanguage(): Language {
  if (selectedLanguage !== null) return selectedLanguage;
  return navigator.languages.map(toLanguage).find((each) => each !== null) ?? 'en';
}

/** Language of the dashboard: the selected one, else the first of the browser that is available. */
export const language: Language = preferredLanguage();

/** Locale of numbers and times: the variant that the browser prefers, such as `en-GB`, or the language itself. */
export const locale: string = navigator.languages.find((tag) => toLanguage(tag) === language) ?? language;
