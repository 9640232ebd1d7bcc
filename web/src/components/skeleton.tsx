import { texts } from '../texts/en/components.ts';

/** Placeholder lines for text that is loading; they take the same space as the text. */
export function Skeleton({
  lines = 1,
  width = '100%',
}: {
  readonly lines?: number;
  readonly width?: string;
}) {
  return (
    <span class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} style={{ width: i === lines - 1 ? width : '100%' }} />
      ))}
    </span>
  );
}

/** A number or word, or a placeholder while it is loading. */
export function LoadingText({
  value,
  width = '3ch',
}: {
  readonly value: string | undefined;
  readonly width?: string;
}) {
  return value === undefined ? <Skeleton width={width} /> : <>{value}</>;
}

/** Placeholder for the rows of a table that is loading. */
export function SkeletonRows({ rows = 5 }: { readonly rows?: number }) {
  return (
    <div class="skeleton-rows" role="status" aria-label={texts.loading}>
      {Array.from({ length: rows }, (_, i) => (
        <Skeleton key={i} width={`${70 - ((i * 13) % 40)}%`} />
      ))}
    </div>
  );
}
