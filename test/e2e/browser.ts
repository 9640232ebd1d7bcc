import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import type { Test } from 'tap';

/** A real browser for the stories of the dashboard: the Chromium of the system, which tests do not bring along. */

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
        // not there: the next place
      }
    }
  }
  return null;
}

const executablePath = findChromium();

/** Why stories in a browser are skipped, or false. */
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

/** Ends with the test. */
export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: executablePath!, args: flags });
  t.teardown(() => browser.close());
  return browser;
}

/** A page, and whatever in it should not have happened. */
export interface ObservedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, refusals of the content security policy, lines of the console that tell of an error. */
  readonly problems: readonly string[];
}

/** Chromium logs every reply of 400 and above as an error; a page is meant to meet some of them. */
const expectedConsoleError =
  /^Failed to load resource: (the server responded with a status of (401|409)|net::ERR_)/;

export async function openPage(
  t: Test,
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<ObservedPage> {
  // Without movement colours are measured as they stay, and screens do not differ from run to run.
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

/** What axe-core finds serious or critical on the page as it is, a line for each rule and place. */
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

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Keeps what the page looks like, for people: `dist/screens/<name>.png`. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = join(compiledRoot, 'screens');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
}
