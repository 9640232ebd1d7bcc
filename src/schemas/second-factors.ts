import { UserInfo } from './accounts.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, Timestamp } from './wire.ts';

/** Schemas of second factors. */

const code = Type.String({
  description: 'Six digits of the authenticator app, or a recovery code. Each works once.',
  maxLength: 64,
});

export const SecondFactorRequired = Component(
  'SecondFactorRequired',
  'The sign-in goes on with the code of the second factor.',
  {
    second_factor_required: Type.Literal(true),
    second_factor_token: Type.String({ description: 'For `/api/auth/second-factor`, together with a code.' }),
    expires_at: Timestamp('When the sign-in has to be started again.'),
  },
);
export type SecondFactorRequired = Static<typeof SecondFactorRequired>;

export const FinishSecondFactorRequest = Component(
  'FinishSecondFactorRequest',
  'The second step of a sign-in.',
  {
    code,
    second_factor_token: Type.Optional(
      Nullable(Type.String({ maxLength: 8_192 }), {
        description: 'For programs; a browser has it in a cookie.',
      }),
    ),
  },
);
export type FinishSecondFactorRequest = Static<typeof FinishSecondFactorRequest>;

export const FinishSecondFactorResponse = Component('FinishSecondFactorResponse', 'Signed in.', {
  access_token: Type.Optional(
    Type.String({ description: 'The session, for programs; a browser gets a cookie. Shown this once.' }),
  ),
  token_type: Type.Optional(Type.Literal('bearer')),
  expires_at: Timestamp('When the session ends at the latest.'),
  user: UserInfo,
  redirect_url: Type.String({ description: 'Where the browser continues: a path of this server.' }),
});
export type FinishSecondFactorResponse = Static<typeof FinishSecondFactorResponse>;

export const SecondFactorStatusResponse = Component('SecondFactorStatusResponse', 'Whether it is on.', {
  is_enabled: Type.Boolean(),
  enabled_at: Nullable(Type.String({ format: 'date-time' })),
  recovery_codes_left: Type.Integer(),
});
export type SecondFactorStatusResponse = Static<typeof SecondFactorStatusResponse>;

export const BeginSecondFactorResponse = Component(
  'BeginSecondFactorResponse',
  'What the authenticator app is given. Shown this once.',
  {
    secret: Type.String({ description: 'Base32, to be typed where a QR code cannot be read.' }),
    otpauth_url: Type.String({ description: '`otpauth://totp/...`, the content of the QR code.' }),
  },
);
export type BeginSecondFactorResponse = Static<typeof BeginSecondFactorResponse>;

export const SecondFactorCodeRequest = Component('SecondFactorCodeRequest', 'A code.', { code });
export type SecondFactorCodeRequest = Static<typeof SecondFactorCodeRequest>;

export const ConfirmSecondFactorResponse = Component('ConfirmSecondFactorResponse', 'It is on.', {
  recovery_codes: Type.Array(Type.String(), {
    description: 'Each signs in once in the place of a code of the app. Shown this once.',
  }),
});
export type ConfirmSecondFactorResponse = Static<typeof ConfirmSecondFactorResponse>;
