import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { hasPasskeys } from '../browser/passkeys.ts';
import { Button } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { TextField } from '../components/text-field.tsx';
import { useLoad } from '../server/load.ts';
import { loadSession } from '../server/session.ts';
import { getSignInOptions, providerLoginUrl, type SignInOptions, sendMagicLink } from '../server/sign-in.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/sign-in.ts';
import { fill } from '../texts/format-text.ts';
import { rich } from '../texts/rich-text.ts';
import { AdministratorForm } from './administrator-form.tsx';
import { JoinForm, type JoinMethods } from './join-form.tsx';
import { PasskeySignIn } from './passkey-sign-in.tsx';
import { PasswordSignIn } from './password-sign-in.tsx';

/** Maximum length of the path that the server stores during a sign-in. */
const redirectPathMax = 1_024;

/** Shown at every URL to users who are not signed in. After sign-in, the requested page appears. */
export function SignIn() {
  useEffect(() => {
    document.title = texts.signInQuarry;
    // A mailed link opens in another tab: this tab detects the new session when it becomes visible.
    const checkSession = () => {
      if (!document.hidden) loadSession().catch(() => {}); // without a reply this page stays
    };
    document.addEventListener('visibilitychange', checkSession);
    return () => document.removeEventListener('visibilitychange', checkSession);
  }, []);
  return (
    <main class="standalone">
      <div class="sign-in">
        <span class="mark" aria-hidden="true" />
        <SignInContent />
      </div>
    </main>
  );
}

/** Collapsed part. Its content exists only while it is open: a form inside would compete for stored passwords. */
function More({ summary, children }: { readonly summary: string; readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="more" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  );
}

/** At the address of an invitation, a user without an account can create one. */
function SignInContent() {
  const { path } = useLocation();
  const code = path === '/app/join' ? window.location.hash.slice(1) : '';
  const options = useLoad(getSignInOptions, []);
  if (code !== '' && options.isLoading && options.data === undefined)
    return <Skeleton lines={4} width="60%" />;
  const { mail, google, github, password = false, passkey = false } = options.data ?? {};
  const methods: JoinMethods = { password, passkey: passkey && hasPasskeys };
  const mayJoin = code !== '' && (methods.password || methods.passkey);
  if (!mayJoin || mail || google || github)
    return (
      <>
        <h1 tabIndex={-1}>{texts.signInToQuarry}</h1>
        <SignInMethods />
        {mayJoin && (
          <More summary={fill(texts.createAnAccountWithMethods, { methods: methodNames(methods) })}>
            <JoinForm code={code} {...methods} />
          </More>
        )}
      </>
    );
  return (
    <>
      <h1 tabIndex={-1}>{texts.acceptTheInvitation}</h1>
      <JoinForm code={code} {...methods} />
      <More summary={texts.iAlreadyHaveAnAccount}>
        <SignInMethods />
      </More>
    </>
  );
}

function methodNames({ passkey, password }: JoinMethods): string {
  if (!passkey) return texts.aPassword;
  return password ? texts.aPasskeyOrAPassword : texts.aPasskey;
}

interface SignInMethodsProps {
  /** Whether they are shown over a page, which must stay open: links open in another tab. */
  readonly isOverlay?: boolean;
  readonly email?: string;
}

/** Sign-in methods that this server supports, and a link for the operator of the server. */
export function SignInMethods({ isOverlay = false, email = '' }: SignInMethodsProps) {
  const { url } = useLocation();
  const options = useLoad(getSignInOptions, []);
  if (options.error !== null) return <LoadError error={options.error} onRetry={options.reload} />;
  if (options.data === undefined) return <Skeleton lines={4} width="60%" />;
  const { mail, google, github, administrator, password, passkey } = options.data;
  const currentPath = url + window.location.hash;
  const isRedirectable = !url.startsWith('/app/sign-in') && currentPath.length <= redirectPathMax;
  const redirect = isRedirectable ? currentPath : '/app/';
  return (
    <div class="sign-in-methods">
      <Providers options={options.data} redirect={redirect} isOverlay={isOverlay} />
      {mail && (google || github) && <p class="or">{texts.or}</p>}
      {mail && <MailLink redirect={redirect} pauseSeconds={options.data.resend_seconds} email={email} />}
      {password && (
        <Password isOnlyMethod={!mail && !google && !github} {...{ redirect, email, isOverlay }} />
      )}
      {passkey && hasPasskeys && <PasskeySignIn {...{ redirect, isOverlay }} />}
      <OperatorLink isOnlyMethod={!mail && !google && !github && !password} />
      {administrator && !isOverlay && <Administrator />}
    </div>
  );
}

interface ProvidersProps {
  readonly options: SignInOptions;
  readonly redirect: string;
  readonly isOverlay: boolean;
}

function Providers({ options, redirect, isOverlay }: ProvidersProps) {
  const configuredProviders = (
    [
      ['google', 'Google'],
      ['github', 'GitHub'],
    ] as const
  ).filter(([provider]) => options[provider]);
  return (
    <>
      {configuredProviders.map(([provider, name]) => (
        // Not a router link: the server redirects to the provider.
        <a
          key={provider}
          class="button wide"
          href={providerLoginUrl(provider, isOverlay ? '/app/' : redirect)}
          target={isOverlay ? '_blank' : '_self'}
          rel="noreferrer"
        >
          <span class="button-label">{fill(texts.continueWithName, { name })}</span>
        </a>
      ))}
    </>
  );
}

interface MailLinkProps {
  readonly redirect: string;
  readonly pauseSeconds: number;
  readonly email: string;
}

function MailLink({ redirect, pauseSeconds, email: initialEmail }: MailLinkProps) {
  const [email, setEmail] = useState(initialEmail);
  const [sentTo, setSentTo] = useState<string | null>(null);
  const [secondsLeft, setSecondsLeft] = useState(0);
  useEffect(() => {
    if (secondsLeft <= 0) return;
    const timer = setTimeout(() => setSecondsLeft(secondsLeft - 1), 1_000);
    return () => clearTimeout(timer);
  }, [secondsLeft]);
  const send = useAsyncAction(async () => {
    await sendMagicLink(email, redirect);
    setSentTo(email);
    setSecondsLeft(pauseSeconds);
  });
  if (sentTo !== null) {
    return (
      <div class="sent" role="status">
        <h2>{texts.checkYourInbox}</h2>
        <p>{rich(texts.aSignInLinkWas, { sentTo: <strong>{sentTo}</strong> })}</p>
        <ErrorMessage error={send.error} />
        <div class="row">
          <Button onClick={send.start} busy={send.isBusy} disabled={secondsLeft > 0}>
            {secondsLeft > 0 ? fill(texts.resendInSecondsLeftS, { secondsLeft }) : texts.resend}
          </Button>
          <Button tone="ghost" onClick={() => setSentTo(null)}>
            {texts.useAnotherAddress}
          </Button>
        </div>
      </div>
    );
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        send.start();
      }}
    >
      <TextField
        label={texts.email}
        type="email"
        name="email"
        autoComplete="email webauthn"
        required
        placeholder="you@example.com"
        value={email}
        onChange={setEmail}
      />
      <ErrorMessage error={send.error} />
      <Button type="submit" tone="primary" class="wide" busy={send.isBusy}>
        {texts.emailMeASignIn}
      </Button>
    </form>
  );
}

interface PasswordProps {
  readonly isOnlyMethod: boolean;
  readonly redirect: string;
  readonly email: string;
  readonly isOverlay: boolean;
}

function Password({ isOnlyMethod, ...props }: PasswordProps) {
  if (isOnlyMethod) return <PasswordSignIn {...props} />;
  return (
    <More summary={texts.signInWithAPassword}>
      <PasswordSignIn {...props} />
    </More>
  );
}

const loginLinkCommand = 'quarry login-link';

function OperatorLink({ isOnlyMethod }: { readonly isOnlyMethod: boolean }) {
  const instructions = (
    <>
      <p>{texts.theServerPrintsASign}</p>
      <div class="command">
        <code>{loginLinkCommand}</code>
        <CopyButton text={loginLinkCommand} />
      </div>
      <p>
        {rich(texts.withoutQuarryOnThePath, {
          quarry: <code>quarry</code>,
          archive: <code>./quarry</code>,
          clone: <code>node bin/quarry.js</code>,
        })}
      </p>
    </>
  );
  if (isOnlyMethod) return <div class="stack">{instructions}</div>;
  return (
    <details class="more">
      <summary>{texts.doYouOperateThisServer}</summary>
      {instructions}
    </details>
  );
}

function Administrator() {
  const { route } = useLocation();
  return (
    <More summary={texts.administrator}>
      <AdministratorForm onDone={() => route('/app/admin')} />
    </More>
  );
}
