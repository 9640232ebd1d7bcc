import { documentUrl } from '../page-urls.ts';
import { useLoad } from '../server/load.ts';
import { type DocumentReference, getPage, toLocalUrl } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';
import { formatCount } from '../words/numbers.ts';
import { splitHighlights } from './highlight-parts.ts';

/** Pages of one result that are looked through for the one that answers best. */
const candidatePagesMax = 4;

interface PageThumbnailProps {
  readonly reference: DocumentReference;
  /** First page of the result, from 0, and the page after its last. */
  readonly first: number;
  readonly end: number;
  /** Address of the picture of the only page; undefined when it has to be asked for. */
  readonly knownUrl: string | null | undefined;
  /** What the result has of the question. */
  readonly terms: readonly string[];
}

interface ThumbnailImage {
  readonly page: number;
  readonly address: string | null;
}

/**
 * The page of a result as it looks, small: of several the one that has most of the question. A sign of a page stands in
 * the place of the picture where there is none, so that nothing moves when one comes.
 */
export function PageThumbnail({ reference, first, end, knownUrl, terms }: PageThumbnailProps) {
  const { collection, path } = reference;
  const image = useLoad(
    async (abort): Promise<ThumbnailImage> =>
      knownUrl === undefined
        ? findBestPage({ reference, first, end, terms }, abort)
        : { page: first, address: knownUrl },
    [collection, path, first, end, knownUrl, terms.join(' ')],
  );
  const page = image.data?.page ?? first;
  const address = image.data?.address ?? null;
  const name = `Page ${page + 1} of ${path}`;
  return (
    <a class="thumbnail" href={documentUrl(collection, path, page)}>
      <span class="thumbnail-frame">
        {address === null ? (
          <>
            <Icon name="documents" />
            <span class="unseen">{name}</span>
          </>
        ) : (
          <img src={`${toLocalUrl(address)}&width=256`} width={74} height={96} alt={name} loading="lazy" />
        )}
      </span>
      {end - first > 1 && <span class="number">Page {formatCount(page + 1)}</span>}
    </a>
  );
}

type PageSpan = Pick<PageThumbnailProps, 'reference' | 'first' | 'end' | 'terms'>;

async function findBestPage(
  { reference, first, end, terms }: PageSpan,
  abort: AbortSignal,
): Promise<ThumbnailImage> {
  const pageCount = Math.max(1, Math.min(candidatePagesMax, end - first));
  const withText = pageCount > 1;
  const pages = await Promise.all(
    Array.from(
      { length: pageCount },
      async (_, i) => (await getPage(reference, { index: first + i, withText }, abort)).page,
    ),
  );
  const found = pages.map(({ page_index: page, image_url: address, content }) => ({
    page,
    address,
    hits: countDistinctMatches(splitHighlights(content ?? '', terms)),
  }));
  const best = found.reduce((best, each) => (each.hits > best.hits ? each : best));
  return { page: best.page, address: best.address };
}

/** How many different words are marked. */
function countDistinctMatches(parts: ReturnType<typeof splitHighlights>): number {
  return new Set(parts.flatMap(({ text, isHighlighted: isMarked }) => (isMarked ? [text.toLowerCase()] : [])))
    .size;
}
