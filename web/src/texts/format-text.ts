import { formatCount } from '../format/numbers.ts';
import type { PluralForms } from './catalogs.ts';
import { locale } from './language.ts';

/** Names of the parameters `{name}` of a text. */
export type ParameterNames<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

type Values<Text extends string> = Readonly<Record<ParameterNames<Text>, string | number>>;

/** Replaces the parameters of a text. */
export function fill<const Text extends string>(text: Text, values: Values<Text>): string {
  return text.replace(/\{(\w+)\}/g, (parameter, name: string) =>
    String((values as Readonly<Record<string, string | number>>)[name] ?? parameter),
  );
}

const plurals = new Intl.PluralRules(locale);

type Forms<Plural extends PluralForms> = Extract<Plural[keyof Plural], string>;

/** Text for a number, which replaces `{count}`: "1 document", "2 documents". */
export function counted<const Plural extends PluralForms>(
  forms: Plural,
  count: number,
  ...[values]: CountedValues<Exclude<ParameterNames<Forms<Plural>>, 'count'>>
): string {
  const form = forms[plurals.select(count)] ?? forms.other;
  return fill(form, { ...values, count: formatCount(count) });
}

type CountedValues<Name extends string> = [Name] extends [never]
  ? []
  : [Readonly<Record<Name, string | number>>];
