/**
 * Detects the main language of a text as an ISO 639-1 code: by script where possible, by function words where
 * several languages share a script. Null when neither is clear, because a wrong language is worse than none:
 * franc-min, tinyld and eld name one for most texts without a language (docs/decisions/parsing-libraries.md).
 */
export function detectLanguage(text: string): string | null {
  const sample = sampleText(text);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  if (letters < lettersMin) return null;
  const script = findMainScript(sample, letters);
  if (script === null) return null;
  return typeof script.language === 'string' ? script.language : script.language(sample);
}

/**
 * Returns the declared language of a document (`de-AT` -> `de`), used when detection from the text fails.
 * Null for an invalid language tag, or when the text contradicts it: programs write their configured language
 * regardless of the content.
 */
export function resolveDeclaredLanguage(tag: string | null, text: string): string | null {
  const primary = /^\s*([A-Za-z]{2})(?:[-_][A-Za-z0-9]|\s*$)/.exec(tag ?? '')?.[1]?.toLowerCase();
  return primary === undefined || contradictsLanguage(primary, sampleText(text)) ? null : primary;
}

/**
 * Whether the text has another script than the language, or more function words of another language even if
 * they are too few to detect it.
 */
function contradictsLanguage(language: string, sample: string): boolean {
  const ownWords = functionWords[language];
  if (ownWords === undefined) return false;
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  const script = letters < lettersMin ? null : findMainScript(sample, letters);
  if (script !== null && script.language !== detectLatinLanguage) return true;
  const words = new Set(sample.toLowerCase().match(wholeWords));
  const countShown = (list: readonly string[]) => list.filter((word) => words.has(word)).length;
  const most = Math.max(...Object.values(functionWords).map(countShown));
  return most >= otherWordsMin && most > 2 * countShown(ownWords);
}

/** Minimum number of letters for detection. */
const lettersMin = 20;
const sampleUnits = 4_000;
const samplePieces = 5;

/** Returns pieces from the whole text, because a first page is often in another language than the rest. */
function sampleText(text: string): string {
  if (text.length <= sampleUnits * samplePieces) return text;
  const step = Math.floor((text.length - sampleUnits) / (samplePieces - 1));
  return Array.from({ length: samplePieces }, (_, i) => text.slice(i * step, i * step + sampleUnits)).join(
    '\n',
  );
}

interface Script {
  readonly letters: RegExp;
  /** Minimum share of all letters for this script to be the main one. */
  readonly shareMin: number;
  readonly language: string | ((sample: string) => string | null);
}

/** The order matters: Japanese text is mostly Han, so kana are checked first. */
const scripts: readonly Script[] = [
  { letters: /[\u3041-\u3096\u30a1-\u30fa]/g, shareMin: 0.1, language: 'ja' },
  { letters: /[\uac00-\ud7a3]/g, shareMin: 0.3, language: 'ko' },
  { letters: /\p{Script=Han}/gu, shareMin: 0.3, language: 'zh' },
  { letters: /\p{Script=Thai}/gu, shareMin: 0.4, language: 'th' },
  { letters: /\p{Script=Greek}/gu, shareMin: 0.5, language: 'el' },
  { letters: /\p{Script=Hebrew}/gu, shareMin: 0.4, language: 'he' },
  { letters: /\p{Script=Arabic}/gu, shareMin: 0.4, language: detectArabicScriptLanguage },
  { letters: /\p{Script=Cyrillic}/gu, shareMin: 0.5, language: detectCyrillicLanguage },
  { letters: /\p{Script=Devanagari}/gu, shareMin: 0.4, language: 'hi' },
  { letters: /\p{Script=Bengali}/gu, shareMin: 0.4, language: 'bn' },
  { letters: /\p{Script=Tamil}/gu, shareMin: 0.4, language: 'ta' },
  { letters: /\p{Script=Telugu}/gu, shareMin: 0.4, language: 'te' },
  { letters: /\p{Script=Gujarati}/gu, shareMin: 0.4, language: 'gu' },
  { letters: /\p{Script=Kannada}/gu, shareMin: 0.4, language: 'kn' },
  { letters: /\p{Script=Malayalam}/gu, shareMin: 0.4, language: 'ml' },
  { letters: /\p{Script=Gurmukhi}/gu, shareMin: 0.4, language: 'pa' },
  { letters: /\p{Script=Sinhala}/gu, shareMin: 0.4, language: 'si' },
  { letters: /\p{Script=Lao}/gu, shareMin: 0.4, language: 'lo' },
  { letters: /\p{Script=Khmer}/gu, shareMin: 0.4, language: 'km' },
  { letters: /\p{Script=Myanmar}/gu, shareMin: 0.4, language: 'my' },
  { letters: /\p{Script=Georgian}/gu, shareMin: 0.4, language: 'ka' },
  { letters: /\p{Script=Armenian}/gu, shareMin: 0.4, language: 'hy' },
  { letters: /\p{Script=Ethiopic}/gu, shareMin: 0.4, language: 'am' },
  { letters: /\p{Script=Latin}/gu, shareMin: 0.5, language: detectLatinLanguage },
];

function findMainScript(sample: string, letters: number): Script | null {
  return (
    scripts.find((script) => (sample.match(script.letters)?.length ?? 0) >= letters * script.shareMin) ?? null
  );
}

function detectArabicScriptLanguage(sample: string): string {
  if (/[\u0679\u0688\u0691\u06d2]/.test(sample)) return 'ur';
  return computeShare(sample, /[\u067e\u0686\u0698\u06af\u06a9\u06cc]/g) > 0.01 ? 'fa' : 'ar';
}

function detectCyrillicLanguage(sample: string): string | null {
  if (computeShare(sample, /[\u0456\u0457\u0454\u0491]/gi) > 0.01)
    return /[\u044b\u044d\u045e]/.test(sample) ? 'be' : 'uk';
  if (computeShare(sample, /[\u044b\u044d]/gi) > 0.003) return 'ru';
  if (/[\u0452\u045b\u045f\u0459\u045a]/.test(sample))
    return /[\u0453\u045c\u0455]/.test(sample) ? 'mk' : 'sr';
  return computeShare(sample, /\u044a/gi) > 0.003 ? 'bg' : null;
}

function computeShare(sample: string, letters: RegExp): number {
  return (sample.match(letters)?.length ?? 0) / sample.length;
}

/** Most frequent function words of each language that are rare in the others. */
const functionWords: Readonly<Record<string, readonly string[]>> = {
  en: 'the of and to in that is was for it with as his on be at by this had not are but from or have'.split(
    ' ',
  ),
  de: 'der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch werden aus wird bei'.split(
    ' ',
  ),
  fr: 'de la le et les des en un du une que est pour qui dans par plus pas sur au ne avec ce il aux'.split(
    ' ',
  ),
  es: 'de la que el en y los del se las por un para con no una su al lo como más pero sus le ya'.split(' '),
  it: 'di e il che la in un per è del non una della con sono le si dei nel alla gli da più anche delle'.split(
    ' ',
  ),
  pt: 'de a que e o do da em um para com não uma os no se na por mais as dos como mas ao das'.split(' '),
  nl: 'de van het een en in is dat op te zijn voor met die niet aan er om ook als dan maar bij uit door'.split(
    ' ',
  ),
  sv: 'och i att det som en på är av för med den till inte om ett han men var jag sig från vi så kan'.split(
    ' ',
  ),
  da: 'og i at det er en til af på for med der den de som ikke et har om han var jeg men fra ved'.split(' '),
  no: 'og i det er på en som til å for med av at har de ikke den et om han var jeg men fra ble'.split(' '),
  fi: 'ja on ei se että oli hän ovat mutta joka kun niin myös tai sen ole olla kuin jos mitä vain nyt'.split(
    ' ',
  ),
  pl: 'i w na z się nie do jest że to o jak po za od przez dla są ale przy oraz jego który tym czy'.split(
    ' ',
  ),
  cs: 'a se v na je že s z do o i to jako za pro po by ale jsou ve které byl jeho tak který'.split(' '),
  sk: 'a sa v na je že s z do o i to ako za pre po by ale sú vo ktoré bol jeho tak ktorý'.split(' '),
  hu: 'a az és hogy nem is egy van volt meg ez de csak már még vagy ha mint azt ki kell el lesz fel'.split(
    ' ',
  ),
  ro: 'de și în a la cu pe care din nu este o un mai să pentru că prin sunt au fost lui ca sau ale'.split(
    ' ',
  ),
  hr: 'i je u se na da su za od s koji kao o ne bi iz ili što kako ali to može samo'.split(' '),
  tr: 've bir bu da de için ile olarak çok daha olan gibi en ne kadar sonra ama var o her mi ya olduğu'.split(
    ' ',
  ),
  id: 'yang dan di dari untuk dengan pada ini itu dalam tidak akan adalah ke oleh juga karena atau telah dapat'.split(
    ' ',
  ),
  vi: 'và của là có trong cho được các không một với những người này đã khi để từ đến về như năm'.split(' '),
  ca: 'de la i el que a les en els un del per una amb és no al dels però com més ha seva són aquest'.split(
    ' ',
  ),
  et: 'ja on ei see et oli ka ta mis kui aga või oma mida seda selle kes ning siis nende olid'.split(' '),
  lt: 'ir yra į iš kad su ar tai buvo kaip už per bet nuo apie taip jo tik dar ne prie po jau'.split(' '),
  lv: 'un ir no ar par ka kas uz tas bija vai kā pie pēc arī bet tika to lai gan tiek nav'.split(' '),
};

/** Minimum share of function words among all words of a text. */
const functionWordShareMin = 0.08;
/** Minimum ratio between the best and the second language: a text in two equal parts has no main language. */
const leadMin = 1.1;

/** Minimum number of function words of another language that contradict the declared one. */
const otherWordsMin = 3;

/** Words of running text, excluding parts of identifiers. */
const wholeWords = /(?<![\p{L}\p{N}_-])\p{L}+(?![\p{L}\p{N}_-])/gu;
/** Minimum number of different function words. */
const distinctMin = 4;

function detectLatinLanguage(sample: string): string | null {
  const counts = new Map<string, number>();
  const words = sample.toLowerCase().match(wholeWords) ?? [];
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const ranked = Object.entries(functionWords)
    .map(([language, list]) => ({ language, share: countWords(counts, list) / words.length }))
    .sort((a, b) => b.share - a.share);
  const [first, second] = ranked;
  if (first === undefined || second === undefined || first.share < functionWordShareMin) return null;
  if (functionWords[first.language]!.filter((word) => counts.has(word)).length < distinctMin) return null;
  return first.share >= second.share * leadMin ? first.language : null;
}

function countWords(counts: ReadonlyMap<string, number>, words: readonly string[]): number {
  return words.reduce((sum, word) => sum + (counts.get(word) ?? 0), 0);
}
