import { splitHighlights } from '../../../src/core/excerpt.ts';
import { formatCount } from '../format/numbers.ts';
import { documentUrl } from '../page-urls.ts';
import { useLoad } from '../server/load.ts';
import { type DocumentReference, getPage, toLocalUrl } from '../server/retrieval.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/document.ts';
import { fill } from '../texts/format-text.ts';
import type { Passage } from './passage.ts';

/** Maximum number of pages of one result that are searched for the best match. */
const candidatePagesMax = 4;

interface PageThumbnailProps {
  readonly reference: DocumentReference;
  /** First page of the result, from 0, and the page after the last. */
  readonly first: number;
  readonly end: number;
  /** URL of the image if the result has one page; undefined if it must be loaded. */
  readonly knownUrl: string | null | undefined;
  readonly passage: Passage | undefined;
  /** Words of the result that match the query. */
  readonly words: readonly string[];
}

interface ThumbnailImage {
  readonly page: number;
  readonly address: string | null;
}

/**
 * Thumbnail of the result's page; of several pages, the one with the most matching words. A placeholder icon
 * reserves the space of a missing image, to avoid layout shift.
 */
export function PageThumbnail({ reference, first, end, knownUrl, passage, words }: PageThumbnailProps) {
  const { collection, path } = reference;
  const image = useLoad(
    async (abort): Promise<ThumbnailImage> =>
      knownUrl === undefined
        ? findBestPage({ reference, first, end, words }, abort)
        : { page: first, address: knownUrl },
    [collection, path, first, end, knownUrl, words.join(' ')],
  );
  const page = image.data?.page ?? first;
  const address = image.data?.address ?? null;
  const name = fill(texts.pagePageOfPath, { page: page + 1, path });
  return (
    <a class="thumbnail" href={documentUrl(collection, path, page, end - first > 1 ? undefined : passage)}>
      <span class="thumbnail-frame">
        {address === null ? (
          <>
            <Icon name="documents" />
            <span class="visually-hidden">{name}</span>
          </>
        ) : (
          <img src={`${toLocalUrl(address)}&width=256`} width={74} height={96} alt={name} loading="lazy" />
        )}
      </span>
      {end - first > 1 && <span class="number">{fill(texts.pagePage, { page: formatCount(page + 1) })}</span>}
    </a>
  );
}

type PageSpan = Pick<PageThumbnailProps, 'reference' | 'first' | 'end' | 'words'>;

async function findBestPage(
  { reference, first, end, words }: PageSpan,
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
    hits: countDistinctMatches(splitHighlights(content ?? '', words)),
  }));
  const best = found.reduce((best, each) => (each.hits > best.hits ? each : best));
  return { page: best.page, address: best.address };
}

/** Number of distinct highlighted words. */
function countDistinctMatches(parts: ReturnType<typeof splitHighlights>): number {
  return new Set(parts.flatMap(({ text, isHighlighted }) => (isHighlighted ? [text.toLowerCase()] : [])))
    .size;
}
