import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type * as wire from '../../../src/schemas/queries.ts';
import { documentAt } from '../addresses.ts';
import { Blank } from '../parts/blank.tsx';
import { Button } from '../parts/button.tsx';
import { score as asScore, count, counted, duration } from '../words/numbers.ts';
import { Explanation, mostLexical } from './explanation.tsx';
import { Highlighted } from './highlight.tsx';
import { PagePicture } from './page-picture.tsx';
import type { Answer } from './question.ts';

/** Results whose page is looked for, so that its picture can stand beside them. */
const picturedMax = 20;
/** Results that are shown before one asks for more, and then each time. */
const shownAtOnce = 50;

interface AnswersProps {
  readonly found: Answer | null;
  /** Another answer is on its way. */
  readonly isOld: boolean;
}

/** What came back, best first. */
export function Answers({ found, isOld }: AnswersProps) {
  if (found === null)
    return (
      <Blank title="Ask something that your documents answer">
        No special words are needed. What is found is marked, with its page and how well it fits.
      </Blank>
    );
  return (
    <div class={isOld ? 'old' : ''}>
      <Summary found={found} />
      {found.warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      {found.results.length === 0 ? (
        <Blank title="Nothing was found">
          Documents that are not indexed yet are not found; a filter may leave out all others.
        </Blank>
      ) : (
        <Results key={found.number} found={found} />
      )}
    </div>
  );
}

function Summary({ found }: { readonly found: Answer }) {
  const parts = found.explanation?.ms;
  const server = parts === undefined ? null : parts.embed + parts.search + parts.rerank + parts.read;
  const corrected = found.explanation?.spelling ?? [];
  return (
    <div class="summary">
      <p role="status" class="number">
        <strong>{counted(found.results.length, 'result')}</strong> in {duration(found.ms)}
        {server !== null && <span class="soft"> · {duration(server)} of them in search</span>}
      </p>
      {parts !== undefined && (
        <p class="soft number times">
          Embedding {duration(parts.embed)} · search {duration(parts.search)} · reranking{' '}
          {duration(parts.rerank)} · reading {duration(parts.read)}
        </p>
      )}
      {corrected.map(({ typed, read_as: readAs }) => (
        <p key={typed} class="note">
          No document has “{typed}”: looked for “{readAs}”.
        </p>
      ))}
    </div>
  );
}

/** Two thousand at once would make the page slow: so many, and more when they are wanted. */
function Results({ found }: { readonly found: Answer }) {
  const [shown, setShown] = useState(shownAtOnce);
  const left = found.results.length - shown;
  return (
    <>
      <ol class="results">
        <BestResults found={found} most={shown} />
      </ol>
      {left > 0 && (
        <div class="row center more-results">
          <Button onClick={() => setShown(shown + shownAtOnce)}>
            Show {count(Math.min(left, shownAtOnce))} more of {count(left)}
          </Button>
        </div>
      )}
    </>
  );
}

function BestResults({ found, most }: { readonly found: Answer; readonly most: number }) {
  const { collection } = found;
  const highest = mostLexical(found.results);
  switch (found.kind) {
    case 'snippets':
      return found.results.slice(0, most).map((result, i) => {
        const [first = 0, end = 1] = result.page_span;
        const key = `${result.path}\n${result.start_index}\n${result.end_index}`;
        return (
          <Result
            key={key}
            place={{ collection, path: result.path, page: first, end }}
            result={result}
            highest={highest}
            rank={i}
          >
            <Passage text={result.content} explain={result.explain} />
          </Result>
        );
      });
    case 'pages':
      return found.results.slice(0, most).map((result, i) => {
        const at = { collection, path: result.path, page: result.page_index, end: result.page_index + 1 };
        return (
          <Result
            key={`${result.path}\n${at.page}`}
            place={at}
            image={result.image_url}
            result={result}
            highest={highest}
            rank={i}
          >
            <Passage text={result.content ?? ''} explain={result.explain} />
          </Result>
        );
      });
    case 'documents':
      return found.results.slice(0, most).map((result, i) => (
        <Result
          key={result.path}
          place={{ collection, path: result.path, page: null, end: null }}
          result={result}
          highest={highest}
          rank={i}
          image={null}
        >
          <Metadata metadata={result.metadata} />
        </Result>
      ));
  }
}

interface At {
  readonly collection: string;
  readonly path: string;
  /** First page, from 0; null where no page is named. */
  readonly page: number | null;
  /** The page after the last. */
  readonly end: number | null;
}

interface ResultProps {
  readonly place: At;
  readonly result: { readonly score: number; readonly explain?: wire.ResultExplanation };
  readonly highest: number;
  readonly rank: number;
  /** Address of the picture of the page; undefined when it has to be asked for. */
  readonly image?: string | null;
  readonly children: ComponentChildren;
}

function Result({ place, result, highest, rank, image, children }: ResultProps) {
  const [isExplained, setExplained] = useState(false);
  const { collection, path, page } = place;
  const { explain } = result;
  return (
    <li class="result">
      <div class="result-head">
        <span class="rank number" aria-hidden="true">
          {count(rank + 1)}
        </span>
        <a class="cut" href={documentAt(collection, path, page ?? undefined)} title={path}>
          {path}
        </a>
        {page !== null && <span class="soft number">{pageWords(place)}</span>}
        <span class="score number" title="Relevance within this question, 0 to 1">
          <span class="level" aria-hidden="true">
            <span style={{ width: `${Math.round(result.score * 100)}%` }} />
          </span>
          <span class="unseen">Relevance </span>
          {asScore(result.score)}
        </span>
      </div>
      <div class="result-body">
        <div class="result-words">{children}</div>
        {page !== null && rank < picturedMax && (
          <PagePicture
            place={{ collection, path }}
            first={page}
            end={place.end ?? page + 1}
            known={image}
            terms={explain?.lexical.terms ?? []}
          />
        )}
      </div>
      {explain !== undefined && (
        <button
          type="button"
          class="text-button"
          aria-expanded={isExplained}
          onClick={() => setExplained(!isExplained)}
        >
          {isExplained ? 'Hide how it was found' : 'How it was found'}
        </button>
      )}
      {isExplained && explain !== undefined && <Explanation explain={explain} highest={highest} />}
    </li>
  );
}

function pageWords({ page, end }: At): string {
  const first = (page ?? 0) + 1;
  const last = end ?? first;
  return last > first ? `pages ${count(first)}–${count(last)}` : `page ${count(first)}`;
}

/** How much of a text is shown before one asks for all of it. */
const shownUnits = 700;

function Passage({
  text,
  explain,
}: {
  readonly text: string;
  readonly explain: wire.ResultExplanation | undefined;
}) {
  const [isWhole, setWhole] = useState(false);
  const terms = explain?.lexical.terms ?? [];
  const isLong = text.length > shownUnits + 100;
  const shown = isLong && !isWhole ? `${text.slice(0, shownUnits)}…` : text;
  return (
    <>
      <p class="passage">
        <Highlighted text={shown} terms={terms} />
      </p>
      {isLong && (
        <button type="button" class="text-button" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all'}
        </button>
      )}
    </>
  );
}

function Metadata({ metadata }: { readonly metadata: wire.DocumentRetrievalResponse['metadata'] }) {
  const entries = Object.entries(metadata ?? {});
  if (entries.length === 0) return <p class="soft">No metadata.</p>;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? value : value.join(', ')}</dd>
        </div>
      ))}
    </dl>
  );
}
