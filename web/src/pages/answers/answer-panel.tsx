import type { AnswerCitation, AnswerResponse, AnswerSentence } from '../../../../src/schemas/answers.ts';
import { Button } from '../../components/button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { formatCount } from '../../format/numbers.ts';
import { documentUrl } from '../../page-urls.ts';
import { texts } from '../../texts/en/answers.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { countCodePoints } from '../passage.ts';
import type { SearchReplyBody } from '../search-query.ts';
import { type Answer, answerTo, isAutomatic, setAutomatic, startAnswer, stopAnswer } from './answer-state.ts';
import { findCitedSentence } from './cited-sentence.ts';

interface AnswerPanelProps {
  readonly found: SearchReplyBody;
  /** Name of the chat model. */
  readonly model: string;
  /** Whether another query is running. */
  readonly isStale: boolean;
}

/** Answer of the chat model to the query, sentence by sentence as they arrive, with numbered sources. */
export function AnswerPanel({ found, model, isStale }: AnswerPanelProps) {
  const answer = answerTo(found);
  const isWriting = answer?.state === 'writing';
  const sources = numberSources(answer?.sentences ?? []);
  const toggle = () => {
    if (isWriting) stopAnswer();
    else void startAnswer(found);
  };
  return (
    <section class={`card answer ${isStale ? 'stale' : ''}`} aria-label={texts.answer} aria-busy={isWriting}>
      <header>
        <h2>{texts.answer}</h2>
        <span class="muted cut" title={model}>
          {fill(texts.modelModel, { model })}
        </span>
        <Button tone={isWriting ? 'plain' : 'ghost'} class="small" onClick={toggle}>
          {actionName(answer)}
        </Button>
      </header>
      {answer !== null && (
        <>
          <AnswerText answer={answer} sources={sources} collection={found.collection} />
          <AnswerEnd answer={answer} />
          <SourceList sources={sources} collection={found.collection} />
        </>
      )}
      <Checkbox label={texts.answerEachSearch} checked={isAutomatic()} onChange={setAutomatic} />
    </section>
  );
}

function actionName(answer: Answer | null): string {
  switch (answer?.state) {
    case undefined:
      return texts.answerThisQuestion;
    case 'writing':
      return texts.stop;
    case 'failed':
      return texts.tryAgain;
    case 'stopped':
    case 'complete':
      return texts.answerAgain;
  }
}

/** Cited snippets by their key, with their number from 1 and the first sentence that cites them. */
type Sources = ReadonlyMap<
  string,
  { readonly number: number; readonly citation: AnswerCitation; readonly sentence: string }
>;

function numberSources(sentences: readonly AnswerSentence[]): Sources {
  const sources = new Map<string, { number: number; citation: AnswerCitation; sentence: string }>();
  for (const { text: sentence, citations } of sentences)
    for (const citation of citations) {
      const key = keyOf(citation);
      if (!sources.has(key)) sources.set(key, { number: sources.size + 1, citation, sentence });
    }
  return sources;
}

function keyOf({ path, start_index: start, end_index: end }: AnswerCitation): string {
  return `${path}\n${start}\n${end}`;
}

interface SourcesProps {
  readonly sources: Sources;
  readonly collection: string;
}

function AnswerText({ answer, sources, collection }: SourcesProps & { readonly answer: Answer }) {
  const { state, sentences } = answer;
  if (state === 'writing' && sentences.length === 0)
    return (
      <div role="status" aria-label={texts.theModelIsReadingThe}>
        <Skeleton lines={2} width="80%" />
      </div>
    );
  return (
    <p class="answer-text" aria-live="polite">
      {sentences.map(({ text, citations }, i) => (
        <span key={i}>
          {text}
          {citations.map((citation) => {
            const number = sources.get(keyOf(citation))?.number ?? 0;
            return (
              <a
                key={number}
                class="citation number"
                href={urlOf(collection, citation, text)}
                aria-label={fill(texts.sourceNumberCitation, { number, citation: nameOf(citation) })}
              >
                {number}
              </a>
            );
          })}{' '}
        </span>
      ))}
      {state === 'writing' && <span class="muted">…</span>}
    </p>
  );
}

const reasons: Readonly<Record<NonNullable<AnswerResponse['reason']>, string>> = {
  no_snippets: texts.noTextOfTheCollection,
  no_answer: texts.theModelFoundNoneIn,
  no_citations: texts.theModelWroteTextBut,
};

/** The end of an answer: no support, an error, or what is missing. */
function AnswerEnd({ answer: { state, reply, error } }: { readonly answer: Answer }) {
  if (state === 'failed') return <ErrorMessage error={error} />;
  if (state === 'stopped')
    return (
      <p class="note" role="status">
        {texts.stoppedBeforeTheAnswerWas}
      </p>
    );
  if (reply === null) return null;
  const { reason, num_uncited_sentences: uncited, is_truncated: isTruncated, warnings = [] } = reply;
  return (
    <>
      {reason !== null && (
        <p class="note" role="status">
          <strong>{texts.noAnswerIsSupportedBy}</strong> {reasons[reason]}
        </p>
      )}
      {isTruncated && <p class="note">{texts.theAnswerHasReachedIts}</p>}
      {reason === null && uncited > 0 && (
        <p class="hint">{counted(texts.countSentencesWithoutASource, uncited)}</p>
      )}
      {warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
    </>
  );
}

function SourceList({ sources, collection }: SourcesProps) {
  if (sources.size === 0) return null;
  return (
    <ol class="answer-sources" aria-label={texts.sources}>
      {[...sources].map(([key, { citation, sentence }]) => (
        <li key={key}>
          <a class="cut" href={urlOf(collection, citation, sentence)}>
            {citation.path}
          </a>
          <span class="muted number">{pagesOf(citation)}</span>
        </li>
      ))}
    </ol>
  );
}

/** The document at the snippet, which is marked in text and image, and the sentence of it that supports the answer. */
function urlOf(collection: string, citation: AnswerCitation, sentence: string): string {
  const {
    path,
    page_span: [page = 0],
    start_index: start,
    end_index: end,
    content,
    page_rectangles,
  } = citation;
  const best = findCitedSentence(content, sentence);
  const toOffset = (units: number) => start + countCodePoints(content.slice(0, units));
  const range = best === null ? { start, end } : { start: toOffset(best.start), end: toOffset(best.end) };
  const rectangles = page_rectangles === undefined ? {} : { rectangles: page_rectangles };
  return documentUrl(collection, path, page, { page: null, ...range, cited: { start, end }, ...rectangles });
}

function nameOf(citation: AnswerCitation): string {
  return `${citation.path}, ${pagesOf(citation)}`;
}

function pagesOf({ page_span: [first = 0, end = first + 1] }: AnswerCitation): string {
  return end - first > 1
    ? fill(texts.pagesFirstEnd, { first: formatCount(first + 1), end: formatCount(end) })
    : fill(texts.pageFirst, { first: formatCount(first + 1) });
}
