import { texts } from '../../texts/en/settings.ts';
import { fill } from '../../texts/format-text.ts';

/** Short name for a `User-Agent` header: program and system. The first match in each list wins. */

const programs: readonly (readonly [RegExp, string])[] = [
  [/\bEdg\w*\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
  [/^node\b|undici/, 'Node.js'],
  [/python/i, 'Python'],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux|X11/, 'Linux'],
];

export function userAgentName(userAgent: string): string {
  const named = (known: readonly (readonly [RegExp, string])[]) =>
    known.find(([shape]) => shape.test(userAgent))?.[1];
  const [program, system] = [named(programs), named(systems)];
  if (program === undefined) return userAgent.split(/[/ ]/)[0] || texts.unknownClient;
  return system === undefined ? program : fill(texts.programOnSystem, { program, system });
}
