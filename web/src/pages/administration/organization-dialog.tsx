import { useState } from 'preact/hooks';
import type { SubscriptionType } from '../../../../src/schemas/admin.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Checkbox, Field } from '../../components/field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import {
  adminDeleteOrganization,
  adminGetOrganization,
  adminUpdateOrganization,
  type OrganizationChangesRequest,
  type OrganizationDetails,
} from '../../server/administration.ts';
import { useLoad } from '../../server/load.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/administration.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { tierName, tiers } from '../team/tiers.ts';

type OverrideName = Extract<keyof OrganizationDetails, `override_${string}`>;

/** Overrides by their API names, and the tier's value that applies without them. */
const overrides: readonly (readonly [
  OverrideName,
  label: string,
  tierLimit: (limits: OrganizationDetails['rate_limits']) => number | null,
])[] = [
  ['override_requests_per_minute', texts.requestsPerMinute, (limits) => limits.requests_per_minute],
  ['override_queries_per_minute', texts.queriesPerMinute, (limits) => limits.queries_per_minute],
  ['override_rpm', texts.fastRerankCallsPerMinute, (limits) => limits.rpm],
  ['override_bpm_fast', texts.bytesPerMinuteFastModel, (limits) => limits.bpm_fast],
  ['override_bpm_slow', texts.bytesPerMinuteSlowModel, (limits) => limits.bpm_slow],
  ['override_max_bytes_per_request', texts.bytesPerModelCall, (limits) => limits.max_bytes_per_request],
  [
    'override_document_bytes_per_minute',
    texts.documentBytesPerMinute,
    (limits) => limits.document_bytes_per_minute,
  ],
  ['override_max_documents', texts.documentsStored, (limits) => limits.max_documents],
  ['override_max_storage_bytes', texts.bytesStored, (limits) => limits.max_storage_bytes],
  [
    'override_max_ingest_documents',
    texts.documentsWaitingToBeIndexed,
    (limits) => limits.max_ingest_documents,
  ],
  ['override_max_metadata_bytes', texts.metadataBytesPerDocument, () => null],
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
        title={fill(texts.deleteName, { name: found.name })}
        action={texts.deleteOrganization}
        requiredText={found.name}
        onClose={() => setConfirming(false)}
        onConfirm={async () => {
          await adminDeleteOrganization(id);
          showToast(fill(texts.nameWasDeleted, { name: found.name }));
          onChanged();
          onClose();
        }}
      >
        <p>{texts.allApiKeysMembersAnd}</p>
      </ConfirmDialog>
    );
  }
  return (
    <Dialog title={found?.name ?? texts.organization} onClose={onClose}>
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
    showToast(fill(texts.nameWasUpdated, { name: found.name }));
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
        {counted(texts.countDocuments, found.storage.documents)}, {formatBytes(found.storage.bytes)}
      </p>
      <Field label={texts.plan}>
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
        label={texts.zeroDataRetention}
        hint={texts.contentOfThisOrganizationIs}
        checked={zdr}
        onChange={setZdr}
      />
      <Overrides
        found={found}
        textOf={textOf}
        onChange={(name, text) => setOverrideTexts({ ...overrideTexts, [name]: text })}
      />
      <DialogActions error={save.error}>
        <Button tone="ghost" class="first danger-text" onClick={onDelete}>
          {texts.deleteOrganization2}
        </Button>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button type="submit" tone="primary" busy={save.isBusy} disabled={Object.keys(changes).length === 0}>
          {texts.save}
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
      <summary>{texts.limitOverrides}</summary>
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
              placeholder={activeLimit === null ? texts.planDefault : formatCount(activeLimit)}
              value={textOf(name)}
              onChange={(text) => onChange(name, text)}
            />
          );
        })}
      </div>
    </details>
  );
}
