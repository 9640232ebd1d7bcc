import { useState } from 'preact/hooks';
import { Copy } from '../parts/copy.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { Choice } from '../parts/field.tsx';
import { codeOf, type Language, languages } from './code-samples.ts';
import { question, requestOf } from './question.ts';

/** The question as a call of the API, to be copied. */
export function CodeDialog({
  collection,
  onClose,
}: {
  readonly collection: string;
  readonly onClose: () => void;
}) {
  const [language, setLanguage] = useState<Language>('curl');
  const code = codeOf(language, {
    kind: question.value.kind,
    request: requestOf(collection, question.value),
    baseUrl: `${window.location.origin}/v1`,
  });
  return (
    <Dialog title="The same as a call" onClose={onClose}>
      <Choice
        legend="Language"
        name="language"
        value={language}
        words={languages.map((each) => [each, each] as const)}
        onChange={setLanguage}
      />
      <pre class="code" tabIndex={0}>
        {code}
      </pre>
      <p class="hint">
        It runs as it stands, once the key is set: <code>export QUARRY_API_KEY=ze_…</code>{' '}
        <a href="/app/keys">Create a key</a>
      </p>
      <DialogActions>
        <Copy text={code} label="Copy code" />
      </DialogActions>
    </Dialog>
  );
}
