import { useState } from 'preact/hooks';
import { encode } from 'uqr';
import type { BeginSecondFactorResponse } from '../../../../src/schemas/second-factors.ts';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Card } from '../../components/page.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useLoad } from '../../server/load.ts';
import type { SecondFactorCalls } from '../../server/second-factor.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/settings.ts';
import { counted } from '../../texts/format-text.ts';
import { CodeField } from './code-field.tsx';

const hint = texts.sixDigitsFromTheApp;

/** Card to enable and disable the second factor. */
export function SecondFactorCard({ calls }: { readonly calls: SecondFactorCalls }) {
  const status = useLoad((signal) => calls.status(signal), []);
  const [enrollment, setEnrollment] = useState<BeginSecondFactorResponse | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [isDisabling, setDisabling] = useState(false);
  const begin = useAsyncAction(async () => setEnrollment(await calls.begin()));
  const showRecoveryCodes = (recoveryCodes: readonly string[]) => {
    setEnrollment(null);
    setCodes(recoveryCodes);
    status.reload();
  };
  return (
    <Card title={texts.twoFactorAuthentication}>
      {/* The same text while loading, to avoid layout shift. */}
      <p>{texts.twoFactorAuthenticationProtectsYour}</p>
      <ErrorMessage error={begin.error} />
      {status.error !== null ? (
        <LoadError error={status.error} onRetry={status.reload} />
      ) : (
        <div class="row">
          {status.data?.is_enabled === true ? (
            <>
              <Chip tone="good">{texts.on}</Chip>
              <span>{counted(texts.countRecoveryCodesLeft, status.data.recovery_codes_left)}</span>
              <Button onClick={() => setDisabling(true)}>{texts.turnOff}</Button>
            </>
          ) : (
            <Button onClick={begin.start} busy={begin.isBusy} disabled={status.data === undefined}>
              {texts.setUp}
            </Button>
          )}
        </div>
      )}
      {enrollment !== null && (
        <SetUpDialog
          calls={calls}
          enrollment={enrollment}
          onClose={() => setEnrollment(null)}
          onDone={showRecoveryCodes}
        />
      )}
      {codes !== null && <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />}
      {isDisabling && (
        <DisableDialog calls={calls} onClose={() => setDisabling(false)} onDone={status.reload} />
      )}
    </Card>
  );
}

interface SetUpDialogProps {
  readonly calls: SecondFactorCalls;
  readonly enrollment: BeginSecondFactorResponse;
  readonly onClose: () => void;
  readonly onDone: (recoveryCodes: readonly string[]) => void;
}

function SetUpDialog({ calls, enrollment, onClose, onDone }: SetUpDialogProps) {
  const [code, setCode] = useState('');
  const confirm = useAsyncAction(async () => onDone((await calls.confirm(code)).recovery_codes));
  return (
    <Dialog title={texts.setUpTwoFactorAuthentication} onClose={onClose} mayClose={!confirm.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          confirm.start();
        }}
      >
        <p>{texts.scanTheQrCodeWith}</p>
        <QrCode text={enrollment.otpauth_url} />
        <div class="command">
          <code>{enrollment.secret}</code>
          <CopyButton text={enrollment.secret} label={texts.copyKey} />
        </div>
        <CodeField label={texts.codeFromTheApp} hint={texts.sixDigits} value={code} onChange={setCode} />
        <DialogActions error={confirm.error}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" tone="primary" busy={confirm.isBusy} disabled={code.trim() === ''}>
            {texts.turnOn}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function QrCode({ text }: { readonly text: string }) {
  const { size, data } = encode(text);
  const squares = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={texts.qrCodeOfTheKey}>
      <path d={squares.join('')} shape-rendering="crispEdges" />
    </svg>
  );
}

function RecoveryCodesDialog({
  codes,
  onClose,
}: {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={texts.saveYourRecoveryCodes} onClose={onClose} mayClose={false}>
      <p>{texts.twoFactorAuthenticationIsOn}</p>
      <pre>{codes.join('\n')}</pre>
      <DialogActions>
        <CopyButton text={codes.join('\n')} label={texts.copyCodes} />
        <Button tone="primary" onClick={onClose}>
          {texts.iSavedTheCodes}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

interface DisableDialogProps {
  readonly calls: SecondFactorCalls;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DisableDialog({ calls, onClose, onDone }: DisableDialogProps) {
  const [code, setCode] = useState('');
  const end = useAsyncAction(async () => {
    await calls.disable(code);
    showToast(texts.twoFactorAuthenticationIsOff);
    onClose();
    onDone();
  });
  return (
    <Dialog title={texts.turnOffTwoFactorAuthentication} onClose={onClose} mayClose={!end.isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          end.start();
        }}
      >
        <CodeField label={texts.code} hint={hint} value={code} onChange={setCode} />
        <DialogActions error={end.error}>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" tone="danger" busy={end.isBusy} disabled={code.trim() === ''}>
            {texts.turnOff}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
