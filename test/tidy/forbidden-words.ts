/**
 * Words that docs/glossary.md replaces. A word is found in any case and inside of names: `door` in `openDoor`,
 * `DOOR_OPEN` and "the door". A phrase is found across a line break of a comment.
 */
export interface ForbiddenWord {
  /** Word or phrase in lower case; `s?` and `(a|b)` as in a regular expression. */
  readonly word: string;
  readonly instead: string;
  /** Texts around the word in which it is correct: a wire or stored value, a standard term. Lower case. */
  readonly allowed?: RegExp;
  /** Files in which the word is correct: sample texts, or the names of another project. */
  readonly allowedIn?: RegExp;
}

export interface WordViolation {
  readonly line: number;
  readonly word: string;
  readonly instead: string;
}

/** Word lists of languages, and tests with sentences of any subject. */
const sampleTexts =
  /^(src\/text\/stop-words\.ts|src\/parsing\/encoding\/language\.ts|samples\/.*|test\/(e2e|models|parsing|search|eval)\/.*)$/;

export const forbiddenWords: readonly ForbiddenWord[] = [
  // HTTP
  {
    word: '(doors?|corridors?)',
    instead: 'request handler, request pipeline',
    allowedIn: sampleTexts,
  },
  { word: '(crowds?)', instead: 'concurrency limiter' },
  {
    word: '(desks?|errands?|chores?)',
    instead: 'tool server, task, maintenance task',
    allowedIn: sampleTexts,
  },
  { word: 'link base', instead: 'link base URL, public URL' },
  { word: 'put aside', instead: 'pending, deferred' },
  { word: '(keep|stay) awake', instead: 'keep-alive' },
  { word: 'does without', instead: 'degrades' },
  // Waiting
  { word: '(fair turns|turn queue|one at a time queue)', instead: 'fair queue, semaphore, mutex' },
  { word: 'may take one', instead: 'has fair share' },
  { word: '(be less urgent)', instead: 'background, lower priority' },
  { word: '(rosters?)', instead: 'indexed set' },
  // Index and engine
  { word: '(shelf|shelves|shelve|shelved)', instead: 'index entry', allowedIn: sampleTexts },
  { word: '(switchboard|switchboards)', instead: 'version publisher' },
  // A process that takes over from another one is a successor.
  {
    word: '(successors?)',
    instead: 'replacement index, replacement',
    allowedIn: /^(src\/(app|main|config|http)[/.].*|test\/e2e\/.*|docs\/operate\/.*)$/,
  },
  { word: '(disown|disowned|disowns)', instead: 'discard' },
  { word: '(grave|graves|buried|buries)', instead: 'tombstone, mark deleted' },
  { word: '(births?|deaths?)', instead: 'created, deleted (epoch)', allowedIn: sampleTexts },
  { word: '(ways down|links ground|ground layer)', instead: 'layer 0, beam width' },
  { word: '(impatient)', instead: 'deadline' },
  { word: '(ladder|ladders|rung|rungs)', instead: 'candidates, trial' },
  { word: '(strays?|unowned)', instead: 'orphans' },
  {
    word: '(look closer|looks closer|first look|looks twice|with look)',
    instead: 'proximity rescoring',
  },
  { word: '(hasten|hastened)', instead: 'maintenance, make due, retry now' },
  // Billing
  { word: '(lowerings?)', instead: 'downgrade' },
  { word: '(resumptions?)', instead: 'resume' },
  { word: 'stripe silence', instead: 'unknown outcome' },
  // Parsing
  { word: '(complaint)', instead: 'stderr' },
  { word: '(flooded)', instead: 'output limit exceeded' },
  { word: '(worn out|wears out)', instead: 'needs replacement' },
  { word: 'made up spaces?', instead: 'generated space' },
  // Errors
  {
    word: '(refusals?)',
    instead: 'rejection, error reply, denied access',
    // Stored fields, and a key of the reports of the campaign.
    allowedIn: /^(src\/(accounts\/idempotency|billing\/.*|storage\/billing-account)\.ts|test\/campaign\/.*)$/,
  },
  { word: '(strangers?)', instead: 'non-member', allowedIn: sampleTexts },
  // Sentences
  { word: '(whomever)', instead: 'the name of the subject' },
  { word: 'asked nothing', instead: 'an active sentence' },
  { word: 'is to be had', instead: 'is available' },
  { word: '(twice is once|harmless twice)', instead: 'idempotent' },
  { word: '(laws?) of the house', instead: 'rules' },
  { word: 'not any more', instead: 'no longer' },
  // American spelling; the spelling check covers texts, this list covers names too.
  { word: '(organisational)', instead: 'organization' },
  { word: '(authoris(e|es|ed|ing|ation))', instead: 'authorize' },
  // Parse stage of the status reply.
  {
    word: '(recognis(e|es|ed|er|ing))',
    instead: 'recognize',
    allowed: /'recognising'|recognising: (?:'|texts\.)/,
  },
  { word: '(analyse|analysed|analyser|analysers)', instead: 'analyze' },
  { word: '(serialis(e|es|ed|er|ing|ation))', instead: 'serialize' },
  { word: '(initialis(e|es|ed|er|ing|ation))', instead: 'initialize' },
  { word: '(optimis(e|es|ed|er|ing|ation|ations))', instead: 'optimize' },
  { word: '(catalogues)', instead: 'catalog' },
  {
    word: '(cancelled|cancelling)',
    instead: 'canceled, canceling',
    // Names of audit entries.
    allowed: /billing\.(downgrade|upgrade) cancelled/,
  },
  { word: '(labelling|modelled|modelling|signalled)', instead: 'one l' },
  { word: '(behaviours?|neighbouring|favours?|honours?)', instead: '-or' },
  { word: '(centre|centres|artefacts?|whilst|amongst)', instead: 'American spelling' },
];

/** Names of types and functions that the glossary replaces; the same words are correct in sentences. */
export const forbiddenNames: Readonly<Record<string, string>> = {
  Asked: 'a noun: Query, Request',
  Begun: 'a noun: SignUpTokens',
  Bound: 'a noun: BindResult, Limit',
  Brought: 'a noun: SignUpInput',
  Chance: 'Random',
  Door: 'RequestHandler',
  Efforts: 'EfValues',
  FairTurns: 'FairQueue',
  Found: 'a noun: SearchResult',
  Given: 'a noun: Input',
  Guard: 'Hook',
  Guards: 'Hooks',
  Held: 'a noun: Reservation',
  Kept: 'a noun: CacheEntry',
  Letter: 'MailMessage',
  Look: 'ProximityRescorer',
  Moment: 'ReadSnapshot',
  Near: 'ScoredRow',
  OneAtATime: 'Mutex',
  Pace: 'WorkBudget, MinimumThroughput',
  Rarity: 'Idf',
  Remembered: 'CacheEntry',
  RequestSlots: 'Semaphore',
  Ride: 'BatchMember',
  Sees: 'AccessFilter',
  Sight: 'AccessFilter',
  Slots: 'Semaphore',
  SlowQueue: 'FairQueue',
  Spent: 'a noun: TimeSpent',
  Taken: 'a noun: Reservation',
  Turn: 'SearchPhase, permit',
  TurnQueue: 'FairQueue',
  Turns: 'EventLoopScheduler, FairSemaphore',
  Understood: 'AnalyzedQuery',
  Weigh: 'ComputeIdf',
};

/** Violations of one file. */
export function findForbiddenWords(path: string, text: string): WordViolation[] {
  const lines = text.split('\n').map(normalizeLine);
  const starts = lineStarts(lines);
  const normalized = lines.join(' ');
  const violations: WordViolation[] = [];
  for (const match of normalized.matchAll(anyForbiddenWord)) {
    const entry = forbiddenWords.find(({ word }) => new RegExp(`^(?:${word})$`).test(match[0]));
    if (entry === undefined || entry.allowedIn?.test(path) === true) continue;
    const around = normalized.slice(Math.max(0, match.index - 60), match.index + match[0].length + 60);
    if (entry.allowed?.test(around) === true) continue;
    const line = starts.findLastIndex((start) => start <= match.index) + 1;
    violations.push({ line, word: match[0], instead: entry.instead });
  }
  return [...violations, ...findForbiddenNames(path, text)];
}

const anyForbiddenWord = new RegExp(`\\b(?:${forbiddenWords.map(({ word }) => word).join('|')})\\b`, 'g');
const anyForbiddenName = new RegExp(
  `\\b(?:class|struct|interface|type|enum|using|function|const|new)\\s+(${Object.keys(forbiddenNames).join('|')})\\b(?!')`,
);

function findForbiddenNames(path: string, text: string): WordViolation[] {
  if (!/\.(tsx?|js|mjs|cc|h)$/.test(path)) return [];
  return text.split('\n').flatMap((content, index) => {
    const name = anyForbiddenName.exec(content)?.[1];
    return name === undefined ? [] : [{ line: index + 1, word: name, instead: forbiddenNames[name] ?? '' }];
  });
}

/** Lower-case words with single spaces, without comment marks: `/** Opens fooBar_baz.` becomes "opens foo bar baz." */
function normalizeLine(line: string): string {
  return line
    .replace(/^\s*(\/\*\*?|\*\/?|\/\/+|#|>|-)\s?/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .replace(/[_\s-]+/g, ' ')
    .trim()
    .toLowerCase();
}

function lineStarts(lines: readonly string[]): number[] {
  let offset = 0;
  return lines.map((line) => {
    const start = offset;
    offset += line.length + 1;
    return start;
  });
}
