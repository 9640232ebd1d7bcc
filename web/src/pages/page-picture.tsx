import { documentAt } from '../addresses.ts';
import { useLoad } from '../server/load.ts';
import { getPage, local, type Place } from '../server/retrieval.ts';
import { Picture } from '../shell/pictures.tsx';
import { count } from '../words/numbers.ts';
import { marked } from './marked.ts';

/** Pages of one result that are looked through for the one that answers best. */
const lookedThroughMax = 4;

interface PagePictureProps {
  readonly place: Place;
  /** First page of the result, from 0, and the page after its last. */
  readonly first: number;
  readonly end: number;
  /** Address of the picture of the only page; undefined when it has to be asked for. */
  readonly known: string | null | undefined;
  /** What the result has of the question. */
  readonly terms: readonly string[];
}

interface Pictured {
  readonly page: number;
  readonly address: string | null;
}

/**
 * The page of a result as it looks, small: of several the one that has most of the question. A sign of a page stands in
 * the place of the picture where there is none, so that nothing moves when one comes.
 */
export function PagePicture({ place, first, end, known, terms }: PagePictureProps) {
  const { collection, path } = place;
  const shown = useLoad(
    async (abort): Promise<Pictured> =>
      known === undefined ? bestOf({ place, first, end, terms }, abort) : { page: first, address: known },
    [collection, path, first, end, known, terms.join(' ')],
  );
  const page = shown.data?.page ?? first;
  const address = shown.data?.address ?? null;
  const name = `Page ${page + 1} of ${path}`;
  return (
    <a class="thumbnail" href={documentAt(collection, path, page)}>
      <span class="thumbnail-frame">
        {address === null ? (
          <>
            <Picture of="documents" />
            <span class="unseen">{name}</span>
          </>
        ) : (
          <img src={`${local(address)}&width=256`} width={74} height={96} alt={name} loading="lazy" />
        )}
      </span>
      {end - first > 1 && <span class="number">Page {count(page + 1)}</span>}
    </a>
  );
}

type Span = Pick<PagePictureProps, 'place' | 'first' | 'end' | 'terms'>;

async function bestOf({ place, first, end, terms }: Span, abort: AbortSignal): Promise<Pictured> {
  const many = Math.max(1, Math.min(lookedThroughMax, end - first));
  const withText = many > 1;
  const pages = await Promise.all(
    Array.from(
      { length: many },
      async (_, i) => (await getPage(place, { index: first + i, withText }, abort)).page,
    ),
  );
  const found = pages.map(({ page_index: page, image_url: address, content }) => ({
    page,
    address,
    hits: different(marked(content ?? '', terms)),
  }));
  const best = found.reduce((most, each) => (each.hits > most.hits ? each : most));
  return { page: best.page, address: best.address };
}

/** How many different words are marked. */
function different(parts: ReturnType<typeof marked>): number {
  return new Set(parts.flatMap(({ text, isMarked }) => (isMarked ? [text.toLowerCase()] : []))).size;
}
