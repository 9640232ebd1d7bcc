import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/sign-in.ts';

export const texts: Translation<typeof english> = {
  administratorPassword: 'Contraseña de administrador',
  authenticationCode: 'Código de autenticación',
  requiredOnlyIfTwoFactor: 'Solo es necesario si la autenticación de dos factores está activada.',
  signInAsAdministrator: 'Iniciar sesión como administrador',
  email: 'Correo electrónico',
  name: 'Nombre',
  chooseAPassword: 'Elija una contraseña',
  aPasskeyReplacesThePassword:
    'Una llave de acceso sustituye a la contraseña: inicia sesión con su huella digital, su rostro, el PIN del dispositivo o una llave de seguridad.',
  createAccountAndJoin: 'Crear cuenta y unirse',
  createAPasskeyAndJoin: 'Crear una llave de acceso y unirse',
  useAPasskeyInstead: 'Usar una llave de acceso en su lugar',
  useAPasswordInstead: 'Usar una contraseña en su lugar',
  signInWithAPasskey: 'Iniciar sesión con una llave de acceso',
  newPasswordQuarry: 'Contraseña nueva · Quarry',
  chooseANewPassword: 'Elija una contraseña nueva',
  allYourSessionsEndAnd: 'Todas sus sesiones finalizan y la sesión se inicia aquí.',
  newPassword: 'Contraseña nueva',
  savePassword: 'Guardar contraseña',
  goToSignIn: 'Ir al inicio de sesión',
  password: 'Contraseña',
  signIn: 'Iniciar sesión',
  forgotYourPasswordAskThe:
    '¿Ha olvidado su contraseña? Pida un enlace de contraseña al administrador de este servidor.',
  twoFactorAuthenticationQuarry: 'Autenticación de dos factores · Quarry',
  twoFactorAuthentication: 'Autenticación de dos factores',
  sixDigitsFromYourAuthenticator:
    'Seis cifras de su aplicación de autenticación o un código de recuperación. Cada código funciona una vez.',
  startOver: 'Empezar de nuevo',
  signInQuarry: 'Inicio de sesión · Quarry',
  signInToQuarry: 'Iniciar sesión en Quarry',
  createAnAccountWithMethods: 'Crear una cuenta con {methods}',
  acceptTheInvitation: 'Aceptar la invitación',
  iAlreadyHaveAnAccount: 'Ya tengo una cuenta',
  aPassword: 'una contraseña',
  aPasskeyOrAPassword: 'una llave de acceso o una contraseña',
  aPasskey: 'una llave de acceso',
  or: 'o',
  continueWithName: 'Continuar con {name}',
  checkYourInbox: 'Revise su bandeja de entrada',
  aSignInLinkWas:
    'Se envió un enlace de inicio de sesión a {sentTo}. Ábralo en este navegador en un plazo de 10 minutos.',
  resendInSecondsLeftS: 'Reenviar en {secondsLeft} s',
  resend: 'Reenviar',
  useAnotherAddress: 'Usar otra dirección',
  emailMeASignIn: 'Enviarme un enlace de inicio de sesión',
  signInWithAPassword: 'Iniciar sesión con una contraseña',
  theServerPrintsASign:
    'El servidor muestra un enlace de inicio de sesión al iniciarse. Para obtener un enlace nuevo, ejecute este comando en el servidor y abra la URL que se muestra:',
  withoutQuarryOnThePath:
    'Si {quarry} no está en el PATH, use {archive} en la carpeta de un archivo comprimido, o {clone} en un clon.',
  doYouOperateThisServer: '¿Opera este servidor?',
  administrator: 'Administrador',
};
