import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/sign-in.ts';

export const texts: Translation<typeof english> = {
  administratorPassword: 'Administratorpasswort',
  authenticationCode: 'Authentifizierungscode',
  requiredOnlyIfTwoFactor: 'Nur erforderlich, wenn die Zwei-Faktor-Authentifizierung eingeschaltet ist.',
  signInAsAdministrator: 'Als Administrator anmelden',
  email: 'E-Mail',
  name: 'Name',
  chooseAPassword: 'Passwort wählen',
  aPasskeyReplacesThePassword:
    'Ein Passkey ersetzt das Passwort: Sie melden sich mit Fingerabdruck, Gesicht, Geräte-PIN oder Sicherheitsschlüssel an.',
  createAccountAndJoin: 'Konto erstellen und beitreten',
  createAPasskeyAndJoin: 'Passkey erstellen und beitreten',
  useAPasskeyInstead: 'Stattdessen einen Passkey verwenden',
  useAPasswordInstead: 'Stattdessen ein Passwort verwenden',
  signInWithAPasskey: 'Mit einem Passkey anmelden',
  newPasswordQuarry: 'Neues Passwort · Quarry',
  chooseANewPassword: 'Neues Passwort wählen',
  allYourSessionsEndAnd: 'Alle Ihre Sitzungen enden, und Sie werden hier angemeldet.',
  newPassword: 'Neues Passwort',
  savePassword: 'Passwort speichern',
  goToSignIn: 'Zur Anmeldung',
  password: 'Passwort',
  signIn: 'Anmelden',
  forgotYourPasswordAskThe:
    'Passwort vergessen? Bitten Sie den Administrator dieses Servers um einen Passwort-Link.',
  twoFactorAuthenticationQuarry: 'Zwei-Faktor-Authentifizierung · Quarry',
  twoFactorAuthentication: 'Zwei-Faktor-Authentifizierung',
  sixDigitsFromYourAuthenticator:
    'Sechs Ziffern aus Ihrer Authenticator-App oder ein Wiederherstellungscode. Jeder Code funktioniert einmal.',
  startOver: 'Von vorn beginnen',
  signInQuarry: 'Anmelden · Quarry',
  signInToQuarry: 'Bei Quarry anmelden',
  createAnAccountWithMethods: 'Konto mit {methods} erstellen',
  acceptTheInvitation: 'Einladung annehmen',
  iAlreadyHaveAnAccount: 'Ich habe bereits ein Konto',
  aPassword: 'einem Passwort',
  aPasskeyOrAPassword: 'einem Passkey oder einem Passwort',
  aPasskey: 'einem Passkey',
  or: 'oder',
  continueWithName: 'Weiter mit {name}',
  checkYourInbox: 'Sehen Sie in Ihrem Posteingang nach',
  aSignInLinkWas:
    'Ein Anmeldelink wurde an {sentTo} gesendet. Öffnen Sie ihn innerhalb von 10 Minuten in diesem Browser.',
  resendInSecondsLeftS: 'Erneut senden in {secondsLeft} s',
  resend: 'Erneut senden',
  useAnotherAddress: 'Andere Adresse verwenden',
  emailMeASignIn: 'Anmeldelink per E-Mail senden',
  signInWithAPassword: 'Mit einem Passwort anmelden',
  theServerPrintsASign:
    'Der Server gibt beim Start einen Anmeldelink aus. Für einen neuen Link führen Sie diesen Befehl auf dem Server aus und öffnen die ausgegebene URL:',
  withoutQuarryOnThePath:
    'Wenn {quarry} nicht im PATH ist, verwenden Sie {archive} im Ordner eines Archivs oder {clone} in einem Klon.',
  doYouOperateThisServer: 'Betreiben Sie diesen Server?',
  administrator: 'Administrator',
};
