/** Characters of a subject, as git and GitHub show it in lists without cutting it. */
const subjectUnitsMax = 72;

/** Verbs of the imperative that look like another form. */
const imperativeVerbs = new Set(
  'address bypass bring compress discuss dismiss embed exceed express feed focus need pass ping press process proceed shed speed string stress suppress'.split(
    ' ',
  ),
);

/** Rules that a commit message breaks. */
export function findMessageViolations(message: string): string[] {
  const [subject = '', second = '', ...body] = message.trim().split('\n');
  const violations: string[] = [];
  if (subject.length > subjectUnitsMax) {
    violations.push(`the subject has ${subject.length} characters, at most ${subjectUnitsMax} are allowed`);
  }
  const [, verb] = /^[a-z0-9./-]+(?:, [a-z0-9./-]+)*: ([a-z]\S*)(?: .*)?[^.]$/.exec(subject) ?? [];
  if (verb === undefined)
    violations.push('the subject is not "area: imperative", in lower case and without a period');
  else if (!isImperative(verb)) violations.push(`"${verb}" is not an imperative`);
  if (second !== '') violations.push('the second line is not empty');
  if (body.join('').trim() === '') violations.push('the body with the reason is missing');
  return violations;
}

function isImperative(verb: string): boolean {
  return imperativeVerbs.has(verb) || !/(?:ed|ing|[^s]s)$/.test(verb);
}
