import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import type { Test } from '../support/tap.ts';

/** Real browser for the dashboard scenarios: the Chromium installed on the system; the tests ship none. */

const executableNames = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

function findChromium(): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/snap/bin'];
  for (const name of executableNames) {
    for (const folder of folders) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not found: try the next folder.
      }
    }
  }
  return null;
}

const executablePath = findChromium();

/** Reason to skip browser scenarios, or false. */
export const browserSkipReason: string | false =
  executablePath === null &&
  'there is no Chromium on this machine; on Debian: apt-get install --no-install-recommends chromium';

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--font-render-hinting=none',
];

/** The browser closes at the end of the test. */
export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: executablePath!, args: flags });
  t.teardown(() => browser.close());
  return browser;
}

/** Page with a record of unexpected events. */
export interface ObservedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Script errors, violations of the content security policy, and console messages that report an error. */
  readonly problems: readonly string[];
}

/** Chromium logs every reply with a status of at least 400 as an error; some of them are expected. */
const expectedConsoleError =
  /^Failed to load resource: (the server responded with a status of (401|409)|net::ERR_)/;

export async function openPage(
  t: Test,
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<ObservedPage> {
  // Without animations, colors are measured in their final state and screenshots are reproducible.
  const context = await browser.newContext({
    viewport: { width: 1_280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  t.teardown(async () => {
    if (!t.passing() && !page.isClosed())
      await saveScreenshot(page, `failed-${t.name.replaceAll(/\W+/g, '-')}`);
    await context.close();
  });
  page.setDefaultTimeout(120_000);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !expectedConsoleError.test(message.text()))
      problems.push(message.text());
  });
  page.on('dialog', (dialog) => {
    problems.push(`a dialog of a script: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, context, problems };
}

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

interface AxeViolation {
  readonly impact: string | null;
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
}

/** Serious and critical axe-core findings of the current page, one line per rule and element. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate<readonly AxeViolation[]>(
    `axe.run().then(({ violations }) => violations)`,
  );
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
    );
}

/** Height of the blank space that can be scrolled into view below the content, in pixels. */
export async function blankHeight(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const contentEnd = document.body.getBoundingClientRect().bottom + window.scrollY;
    return Math.max(0, Math.floor(scrollHeight - Math.max(clientHeight, contentEnd)));
  })()`);
}

/** Elements that clip the focus ring of an element. */
export async function ringClippers(target: Locator): Promise<string[]> {
  await target.focus();
  return target.page().evaluate<string[]>(`(() => {
    const element = document.activeElement;
    const ring = 4;
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const clippers = [];
    for (let each = element.parentElement; each !== document.documentElement; each = each.parentElement) {
      const { overflow, contain } = getComputedStyle(each);
      const frame = each.getBoundingClientRect();
      const hasRoom = left - ring >= frame.left && right + ring <= frame.right
        && top - ring >= frame.top && bottom + ring <= frame.bottom;
      const clips = overflow !== 'visible' || /strict|content|paint/.test(contain);
      if (clips && !hasRoom) clippers.push(each.className);
    }
    return clippers;
  })()`);
}

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Saves a screenshot for review: `dist/screens/<name>.png`. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = join(compiledRoot, 'screens');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
}
