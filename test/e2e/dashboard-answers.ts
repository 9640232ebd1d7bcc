import type { Browser, Page } from 'playwright-core';
import { column, prose } from '../parsing/pdf/placed-text-fixtures.ts';
import { buildPdfWithPlacedText } from '../parsing/pdf-fixtures.ts';
import type { FakeChatService } from '../support/fake-chat-service.ts';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { openPage } from './browser.ts';
import { joinChatServer } from './chat-server.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { inspect } from './dashboard-pages.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import type { TestServer } from './server.ts';

const collection_name = 'shop';
const question = 'When are refunds paid?';
const rule = 'Refunds are paid within fourteen days of the return.';

interface PlacedSnippet {
  readonly content: string;
  readonly page_span: readonly number[];
  readonly page_rectangles: readonly {
    readonly page: number;
    readonly rectangles: readonly Readonly<Record<'left' | 'top' | 'width' | 'height', number>>[];
  }[];
}

/** Scenario: answers with citations, their places in the documents, missing support, errors, and answers on request. */
export async function answerScenario(t: Test, browser: Browser): Promise<void> {
  const { server, service } = await joinChatServer();
  const api = new CheckedApiClient(server);
  await addPolicy(api);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await streamAnswer(t, page, { server, service });
  await openCitation(t, page, { api, service });
  await leaveUnanswered(t, page, service);
  await stopAnswer(t, page, service);
  await answerOnRequest(t, page, service);
  t.same(problems, []);
}

/** A document whose second page has the answer. */
async function addPolicy(api: CheckedApiClient): Promise<void> {
  await api.call('collections/add-collection', { collection_name });
  const pages = ['A', 'B', 'C'].map((marker) => {
    const lines = prose(marker, 40, 70);
    return column(marker === 'B' ? lines.with(20, rule) : lines, 72, 720);
  });
  const base64_data = Buffer.from(buildPdfWithPlacedText(pages)).toString('base64');
  await api.add(collection_name, 'policy.pdf', { type: 'auto', base64_data });
}

const answerOf = (page: Page) => page.getByRole('region', { name: 'Answer' });

/** Cites the snippet with the rule in both sentences. A stalled reply ends in the second one. */
function writeAnswer({ snippets }: { readonly snippets: readonly string[] }): string {
  const number = 1 + snippets.findIndex((text) => text.includes('fourteen'));
  return `Refunds are paid within 14 days [${number}]. They count from the day on which the parcel comes back [${number}].`;
}

async function streamAnswer(
  t: Test,
  page: Page,
  { server, service }: { readonly server: TestServer; readonly service: FakeChatService },
): Promise<void> {
  service.behavior = 'stall';
  service.write = writeAnswer;
  await page.goto(`${server.url}/app/search?collection=${collection_name}`);
  await page.getByLabel('Query').fill(question);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  const answer = answerOf(page);
  await answer.getByText('Refunds are paid within 14 days.').waitFor();
  t.equal(await answer.getByText('They count').count(), 0, 'the model has not written it yet');
  await page.getByRole('region', { name: 'Results' }).getByText('policy.pdf').first().waitFor();
  await inspect(t, page, 'answer-streaming');
  service.release();
  await answer.getByText('They count from the day on which the parcel comes back.').waitFor();
  await answer.getByRole('button', { name: 'Answer again' }).waitFor();
  t.equal(await answer.getByRole('list', { name: 'Sources' }).getByRole('listitem').count(), 1);
  t.match(service.lastRequest, { question });
  await inspectInAllThemes(t, page, 'answer');
}

/** Places of the marks as fractions of the image: left, top, width, height. */
const markPlacesScript = `(() => {
  const image = document.querySelector('.page-frame img').getBoundingClientRect();
  return [...document.querySelectorAll('.page-mark')].map((mark) => {
    const { left, top, width, height } = mark.getBoundingClientRect();
    return [(left - image.left) / image.width, (top - image.top) / image.height, width / image.width, height / image.height];
  });
})()`;

/** Opens the document of a citation, whose lines are marked on the page image, and returns to the answer. */
async function openCitation(
  t: Test,
  page: Page,
  { api, service }: { readonly api: CheckedApiClient; readonly service: FakeChatService },
): Promise<void> {
  const query = { collection_name, query: question, k: 8, include_rectangles: true };
  const { results } = await api.call('queries/top-snippets', query);
  const cited = (results as unknown as readonly PlacedSnippet[]).find(({ content }) =>
    content.includes(rule),
  );
  const [first = 0] = cited?.page_span ?? [];
  const expected = cited?.page_rectangles.find((each) => each.page === first)?.rectangles ?? [];
  t.ok(expected.length > 0, 'the snippet has lines on its first page');
  await answerOf(page).getByRole('link', { name: 'Source 1: policy.pdf' }).first().click();
  await page.getByRole('heading', { name: `Page ${first + 1} of 3` }).waitFor();
  await page.locator('mark.passage').first().waitFor();
  const marks = page.locator('.page-mark');
  await waitUntil('the lines are marked', async () => (await marks.count()) === expected.length);
  const places = await page.evaluate<readonly (readonly number[])[]>(markPlacesScript);
  for (const [i, { left, top, width, height }] of expected.entries()) {
    const wanted = [left, top, width, height];
    t.ok(
      wanted.every((edge, at) => Math.abs(edge - places[i]![at]!) < 0.002),
      `line ${i} at ${places[i]}, expected at ${wanted}`,
    );
  }
  await inspectInAllThemes(t, page, 'answer-citation');
  const requests = service.requests.length;
  await page.goBack();
  await answerOf(page).getByText('They count from the day on which the parcel comes back.').waitFor();
  await page.getByRole('region', { name: 'Results' }).getByText('policy.pdf').first().waitFor();
  t.equal(service.requests.length, requests, 'the model is not asked again');
}

/** No support, and an error of the model that a second attempt repairs. */
async function leaveUnanswered(t: Test, page: Page, service: FakeChatService): Promise<void> {
  const answer = answerOf(page);
  service.behavior = 'well';
  service.write = () => 'NO_ANSWER';
  await answer.getByRole('button', { name: 'Answer again' }).click();
  await answer.getByText('The documents do not answer this question.').waitFor();
  t.equal(await answer.getByRole('list', { name: 'Sources' }).count(), 0);
  await inspectInAllThemes(t, page, 'answer-none');
  service.behavior = 'rejected';
  await answer.getByRole('button', { name: 'Answer again' }).click();
  await answer.getByRole('alert').getByText('rejected the request').waitFor();
  await inspectInAllThemes(t, page, 'answer-failed');
  service.behavior = 'well';
  service.write = writeAnswer;
  await answer.getByRole('button', { name: 'Try again' }).click();
  await answer.getByText('They count from the day on which the parcel comes back.').waitFor();
}

/** The button that stops an answer keeps the focus, and the request to the model ends. */
async function stopAnswer(t: Test, page: Page, service: FakeChatService): Promise<void> {
  const answer = answerOf(page);
  const aborted = service.abortedRequests;
  service.behavior = 'stall';
  await answer.getByRole('button', { name: 'Answer again' }).focus();
  await page.keyboard.press('Enter');
  await answer.getByText('Refunds are paid within 14 days.').waitFor();
  await page.keyboard.press('Enter');
  await answer.getByText('Stopped before the answer was complete.').waitFor();
  await waitUntil('the model is stopped', () => service.abortedRequests === aborted + 1);
  t.equal(await page.evaluate('document.activeElement.textContent'), 'Answer again', 'the focus stays');
  t.equal(await answer.getByText('Refunds are paid within 14 days.').count(), 1, 'the sentence stays');
  service.behavior = 'well';
}

/** Searches that ask the model only when the user wants it, which the browser remembers. */
async function answerOnRequest(t: Test, page: Page, service: FakeChatService): Promise<void> {
  const answer = answerOf(page);
  await answer.getByLabel('Answer each search').uncheck();
  await page.reload();
  await page.getByRole('region', { name: 'Results' }).getByText('policy.pdf').first().waitFor();
  const requests = service.requests.length;
  await answer.getByRole('button', { name: 'Answer this question' }).click();
  await answer.getByText('They count from the day on which the parcel comes back.').waitFor();
  t.equal(service.requests.length, requests + 1);
  await answer.getByLabel('Answer each search').check();
}
