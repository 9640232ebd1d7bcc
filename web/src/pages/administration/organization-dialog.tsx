import { useState } from 'preact/hooks';
import type { SubscriptionType } from '../../../../src/schemas/admin.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Checkbox, Field } from '../../components/field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatBytes, formatCount, formatCounted } from '../../format/numbers.ts';
import {
  adminDeleteOrganization,
  adminGetOrganization,
  adminUpdateOrganization,
  type OrganizationChangesRequest,
  type OrganizationDetails,
} from '../../server/administration.ts';
import { useLoad } from '../../server/load.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { tierName, tiers } from '../team/tiers.ts';

type OverrideName = Extract<keyof OrganizationDetails, `override_${string}`>;

/** Overrides by their API names, and the tier's value that applies without them. */
const overrides: readonly (readonly [
  OverrideName,
  label: string,
  tierLimit: (limits: OrganizationDetails['rate_limits']) => number | null,
])[] = [
  ['override_requests_per_minute', 'Requests per minute', (limits) => limits.requests_per_minute],
  ['override_queries_per_minute', 'Queries per minute', (limits) => limits.queries_per_minute],
  ['override_rpm', 'Fast rerank calls per minute', (limits) => limits.rpm],
  ['override_bpm_fast', 'Bytes per minute, fast model calls', (limits) => limits.bpm_fast],
  ['override_bpm_slow', 'Bytes per minute, slow model calls', (limits) => limits.bpm_slow],
  ['override_max_bytes_per_request', 'Bytes per model call', (limits) => limits.max_bytes_per_request],
  [
    'override_document_bytes_per_minute',
    'Document bytes per minute',
    (limits) => limits.document_bytes_per_minute,
  ],
  ['override_max_documents', 'Documents stored', (limits) => limits.max_documents],
  ['override_max_storage_bytes', 'Bytes stored', (limits) => limits.max_storage_bytes],
  [
    'override_max_ingest_documents',
    'Documents waiting to be indexed',
    (limits) => limits.max_ingest_documents,
  ],
  ['override_max_metadata_bytes', 'Metadata bytes per document', () => null],
];

interface OrganizationDialogProps {
  readonly id: string;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** Dialog in which the administrator edits one organization. */
export function OrganizationDialog({ id, onClose, onChanged }: OrganizationDialogProps) {
  const details = useLoad((abort) => adminGetOrganization(id, abort), [id]);
  const [isConfirming, setConfirming] = useState(false);
  const found = details.data;
  if (found !== undefined && isConfirming) {
    return (
      <ConfirmDialog
        title={`Delete ${found.name}?`}
        action="Delete organization"
        requiredText={found.name}
        onClose={() => setConfirming(false)}
        onConfirm={async () => {
          await adminDeleteOrganization(id);
          showToast(`${found.name} was deleted.`);
          onChanged();
          onClose();
        }}
      >
        <p>
          All API keys, members and invitations are removed immediately. Stored data is deleted permanently in
          the background.
        </p>
      </ConfirmDialog>
    );
  }
  return (
    <Dialog title={found?.name ?? 'Organization'} onClose={onClose}>
      {found !== undefined ? (
        <Edit found={found} onClose={onClose} onDelete={() => setConfirming(true)} onChanged={onChanged} />
      ) : details.error === null ? (
        <SkeletonRows rows={6} />
      ) : (
        <LoadError error={details.error} onRetry={details.reload} />
      )}
    </Dialog>
  );
}

interface EditProps {
  readonly found: OrganizationDetails;
  readonly onClose: () => void;
  readonly onDelete: () => void;
  readonly onChanged: () => void;
}

function Edit({ found, onClose, onDelete, onChanged }: EditProps) {
  const [tier, setTier] = useState<SubscriptionType>(found.subscription_tier);
  const [zdr, setZdr] = useState(found.zdr);
  const [overrideTexts, setOverrideTexts] = useState<Readonly<Partial<Record<OverrideName, string>>>>({});
  const textOf = (name: OverrideName) => overrideTexts[name] ?? found[name]?.toString() ?? '';
  const changes: OrganizationChangesRequest = {
    ...(tier === found.subscription_tier ? {} : { subscription_tier: tier }),
    ...(zdr === found.zdr ? {} : { zdr }),
    ...Object.fromEntries(
      overrides.flatMap(([name]) => {
        const newValue = textOf(name).trim() === '' ? 0 : Number(textOf(name));
        return newValue === (found[name] ?? 0) ? [] : [[name, newValue]];
      }),
    ),
  };
  const save = useAsyncAction(async () => {
    await adminUpdateOrganization(found.organization_id, changes);
    showToast(`${found.name} was updated.`);
    onChanged();
    onClose();
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.start();
      }}
    >
      <p class="muted">
        {formatCounted(found.storage.documents, 'document')}, {formatBytes(found.storage.bytes)}
      </p>
      <Field label="Plan">
        {(control) => (
          <select
            {...control}
            value={tier}
            onChange={(event) => setTier(event.currentTarget.value as SubscriptionType)}
          >
            {tiers.map((each) => (
              <option key={each} value={each}>
                {tierName(each)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Checkbox
        label="Zero data retention"
        hint="Content of this organization is not logged."
        checked={zdr}
        onChange={setZdr}
      />
      <Overrides
        found={found}
        textOf={textOf}
        onChange={(name, text) => setOverrideTexts({ ...overrideTexts, [name]: text })}
      />
      <ErrorMessage error={save.error} />
      <DialogActions>
        <Button tone="ghost" class="first" onClick={onDelete}>
          Delete organization
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" busy={save.isBusy} disabled={Object.keys(changes).length === 0}>
          Save
        </Button>
      </DialogActions>
    </form>
  );
}

interface OverridesProps {
  readonly found: OrganizationDetails;
  readonly textOf: (name: OverrideName) => string;
  readonly onChange: (name: OverrideName, text: string) => void;
}

function Overrides({ found, textOf, onChange }: OverridesProps) {
  return (
    <details class="more" open={overrides.some(([name]) => found[name] !== null)}>
      <summary>Limit overrides</summary>
      <div class="pairs">
        {overrides.map(([name, label, tierLimit]) => {
          const activeLimit = found[name] === null ? tierLimit(found.rate_limits) : null;
          return (
            <TextField
              key={name}
              label={label}
              type="number"
              min={0}
              step={1}
              inputMode="numeric"
              placeholder={activeLimit === null ? 'Plan default' : formatCount(activeLimit)}
              value={textOf(name)}
              onChange={(text) => onChange(name, text)}
            />
          );
        })}
      </div>
    </details>
  );
}
