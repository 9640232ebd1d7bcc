import { crawlerName } from './web-client.ts';

interface RobotsRule {
  readonly isAllowed: boolean;
  readonly pattern: string;
}

/** Rules of a robots.txt (RFC 9309) for this crawler. */
export interface Robots {
  readonly rules: readonly RobotsRule[];
  readonly crawlDelayMs: number;
  readonly sitemaps: readonly string[];
}

const linesMax = 10_000;

export function parseRobots(text: string): Robots {
  const groups = new Map<string, { rules: RobotsRule[]; crawlDelayMs: number }>();
  const sitemaps: string[] = [];
  let agents: string[] = [];
  let hasRules = false;
  for (const line of text.split(/\r\n|\r|\n/).slice(0, linesMax)) {
    const [, name = '', value = ''] = /^\s*([A-Za-z-]+)\s*:\s*([^#]*?)\s*(?:#.*)?$/.exec(line) ?? [];
    const field = name.toLowerCase();
    if (field === 'sitemap') sitemaps.push(value);
    else if (field === 'user-agent') {
      if (hasRules) agents = [];
      hasRules = false;
      agents.push(value.toLowerCase());
      for (const agent of agents) if (!groups.has(agent)) groups.set(agent, { rules: [], crawlDelayMs: 0 });
    } else if (field === 'allow' || field === 'disallow' || field === 'crawl-delay') {
      hasRules = true;
      for (const agent of agents) {
        const group = groups.get(agent)!;
        if (field === 'crawl-delay') group.crawlDelayMs = Number(value) * 1_000 || 0;
        else if (value !== '') group.rules.push({ isAllowed: field === 'allow', pattern: value });
      }
    }
  }
  const group = groups.get(crawlerName) ?? groups.get('*') ?? { rules: [], crawlDelayMs: 0 };
  return { ...group, sitemaps };
}

/** The longest matching rule decides; `allow` if two are equally long. */
export function isAllowedByRobots({ rules }: Pick<Robots, 'rules'>, path: string): boolean {
  let best: RobotsRule | null = null;
  for (const rule of rules) {
    if (!matches(rule.pattern, path)) continue;
    const isLonger = best === null || rule.pattern.length > best.pattern.length;
    if (isLonger || (rule.isAllowed && rule.pattern.length === best!.pattern.length)) best = rule;
  }
  return best?.isAllowed ?? true;
}

function matches(pattern: string, path: string): boolean {
  const isAnchored = pattern.endsWith('$');
  const parts = (isAnchored ? pattern.slice(0, -1) : pattern).split('*');
  const [start = ''] = parts;
  if (!path.startsWith(start)) return false;
  if (parts.length === 1) return !isAnchored || path === start;
  let at = start.length;
  for (const part of parts.slice(1, -1)) {
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  const last = parts.at(-1)!;
  return isAnchored ? path.length - last.length >= at && path.endsWith(last) : path.includes(last, at);
}
