import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/sign-in.ts';

export const texts: Translation<typeof english> = {
  administratorPassword: 'Mot de passe administrateur',
  authenticationCode: 'Code d’authentification',
  requiredOnlyIfTwoFactor: 'Requis uniquement si l’authentification à deux facteurs est activée.',
  signInAsAdministrator: 'Se connecter en tant qu’administrateur',
  email: 'E-mail',
  name: 'Nom',
  chooseAPassword: 'Choisissez un mot de passe',
  aPasskeyReplacesThePassword:
    'Une clé d’accès remplace le mot de passe : vous vous connectez avec votre empreinte digitale, votre visage, le code PIN de l’appareil ou une clé de sécurité.',
  createAccountAndJoin: 'Créer un compte et rejoindre',
  createAPasskeyAndJoin: 'Créer une clé d’accès et rejoindre',
  useAPasskeyInstead: 'Utiliser plutôt une clé d’accès',
  useAPasswordInstead: 'Utiliser plutôt un mot de passe',
  signInWithAPasskey: 'Se connecter avec une clé d’accès',
  newPasswordQuarry: 'Nouveau mot de passe · Quarry',
  chooseANewPassword: 'Choisissez un nouveau mot de passe',
  allYourSessionsEndAnd: 'Toutes vos sessions prennent fin, et vous êtes connecté ici.',
  newPassword: 'Nouveau mot de passe',
  savePassword: 'Enregistrer le mot de passe',
  goToSignIn: 'Aller à la connexion',
  password: 'Mot de passe',
  signIn: 'Se connecter',
  forgotYourPasswordAskThe:
    'Mot de passe oublié ? Demandez un lien de mot de passe à l’administrateur de ce serveur.',
  twoFactorAuthenticationQuarry: 'Authentification à deux facteurs · Quarry',
  twoFactorAuthentication: 'Authentification à deux facteurs',
  sixDigitsFromYourAuthenticator:
    'Six chiffres de votre application d’authentification, ou un code de récupération. Chaque code fonctionne une fois.',
  startOver: 'Recommencer',
  signInQuarry: 'Connexion · Quarry',
  signInToQuarry: 'Se connecter à Quarry',
  createAnAccountWithMethods: 'Créer un compte avec {methods}',
  acceptTheInvitation: 'Accepter l’invitation',
  iAlreadyHaveAnAccount: 'J’ai déjà un compte',
  aPassword: 'un mot de passe',
  aPasskeyOrAPassword: 'une clé d’accès ou un mot de passe',
  aPasskey: 'une clé d’accès',
  or: 'ou',
  continueWithName: 'Continuer avec {name}',
  checkYourInbox: 'Consultez votre boîte de réception',
  aSignInLinkWas:
    'Un lien de connexion a été envoyé à {sentTo}. Ouvrez-le dans ce navigateur dans les 10 minutes.',
  resendInSecondsLeftS: 'Renvoyer dans {secondsLeft} s',
  resend: 'Renvoyer',
  useAnotherAddress: 'Utiliser une autre adresse',
  emailMeASignIn: 'Recevoir un lien de connexion par e-mail',
  signInWithAPassword: 'Se connecter avec un mot de passe',
  theServerPrintsASign:
    'Le serveur affiche un lien de connexion à son démarrage. Pour obtenir un nouveau lien, exécutez cette commande sur le serveur et ouvrez l’URL affichée :',
  withoutQuarryOnThePath:
    'Si {quarry} n’est pas dans le PATH, utilisez {archive} dans le dossier d’une archive, ou {clone} dans un clone.',
  doYouOperateThisServer: 'Exploitez-vous ce serveur ?',
  administrator: 'Administrateur',
};
