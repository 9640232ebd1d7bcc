import { useState } from 'preact/hooks';
import { CopyButton } from '../components/copy-button.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { RadioGroup } from '../components/field.tsx';
import { texts } from '../texts/en/search.ts';
import { rich } from '../texts/rich-text.ts';
import { renderSample, type SampleLanguage, sampleLanguages } from './code-samples.ts';
import { buildRequest, searchQuery } from './search-query.ts';

/** Dialog with the query as an API call, to copy. */
export function CodeDialog({
  collection,
  onClose,
}: {
  readonly collection: string;
  readonly onClose: () => void;
}) {
  const [language, setLanguage] = useState<SampleLanguage>('curl');
  const code = renderSample(language, {
    kind: searchQuery.value.kind,
    request: buildRequest(collection, searchQuery.value),
    baseUrl: `${window.location.origin}/v1`,
  });
  return (
    <Dialog title={texts.apiRequest} onClose={onClose}>
      <RadioGroup
        legend={texts.language}
        name="language"
        value={language}
        options={sampleLanguages.map((each) => [each, each] as const)}
        onChange={setLanguage}
      />
      <pre class="code" tabIndex={0}>
        {code}
      </pre>
      <p class="hint">
        {rich(texts.setTheApiKeyBefore, {
          exportQuarryApiKey: <code>export QUARRY_API_KEY=ze_…</code>,
          link: (children) => <a href="/app/keys">{children}</a>,
        })}
      </p>
      <DialogActions>
        <CopyButton text={code} label={texts.copyCode} />
      </DialogActions>
    </Dialog>
  );
}
