import { useState } from 'preact/hooks';
import type { Curation } from '../../../src/schemas/curations.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { Tag } from '../components/chip.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { LoadError } from '../components/error-message.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { TextField } from '../components/text-field.tsx';
import { documentSearchUrl, documentUrl } from '../page-urls.ts';
import { useLoad } from '../server/load.ts';
import { topDocuments } from '../server/retrieval.ts';
import { texts } from '../texts/en/curations.ts';

/** Number of results that are shown. */
const resultsMax = 10;

interface CurationTrialProps {
  readonly collection: string;
  readonly rule: Curation;
  readonly onClose: () => void;
  /** Called before a link is followed. */
  readonly onLeave: () => void;
}

/** Runs a query of a rule, or another one, and shows which documents the rules of the collection pin. */
export function CurationTrial({ collection, rule, onClose, onLeave }: CurationTrialProps) {
  const [text, setText] = useState(rule.queries[0] ?? '');
  const [query, setQuery] = useState(text);
  const found = useLoad(
    (abort) => topDocuments({ collection_name: collection, query, k: resultsMax, explain: true }, abort),
    [collection, query],
  );
  return (
    <Dialog title={texts.tryQuery} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setQuery(text);
        }}
      >
        <TextField label={texts.query} required value={text} onChange={setText} />
        <div class="row">
          <Button type="submit" tone="primary" busy={found.isLoading}>
            {texts.search}
          </Button>
        </div>
      </form>
      {found.error !== null && found.data === undefined ? (
        <LoadError error={found.error} onRetry={found.reload} />
      ) : found.data === undefined ? (
        <SkeletonRows rows={4} />
      ) : (
        <TrialResults collection={collection} results={found.data.results} onLeave={onLeave} />
      )}
      <DialogActions>
        <Button onClick={onClose}>{texts.close}</Button>
        <LinkButton href={documentSearchUrl(collection, query)} onFollow={onLeave}>
          {texts.openInSearch}
        </LinkButton>
      </DialogActions>
    </Dialog>
  );
}

interface TrialResultsProps {
  readonly collection: string;
  readonly results: Awaited<ReturnType<typeof topDocuments>>['results'];
  readonly onLeave: () => void;
}

function TrialResults({ collection, results, onLeave }: TrialResultsProps) {
  if (results.length === 0) return <p role="status">{texts.noResults}</p>;
  return (
    <ol class="trial-ranks" aria-label={texts.results}>
      {results.map(({ path, explain }) => (
        <li key={path}>
          <a href={documentUrl(collection, path)} onClick={onLeave}>
            {path}
          </a>{' '}
          {explain?.pinned === true && <Tag tone="info">{texts.pinned}</Tag>}
        </li>
      ))}
    </ol>
  );
}
