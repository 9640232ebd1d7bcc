import { toOptionalTimestamp } from '../core/timestamps.ts';
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
  'The sign-in continues with a code of the second factor.',
  {
    second_factor_required: Type.Literal(true),
    second_factor_token: Type.String({
      description: 'Token for `/api/auth/second-factor`, to be sent with a code.',
    }),
    expires_at: Timestamp('Expiry time of the sign-in.'),
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
        description: 'Token for programs; a browser has it in a cookie.',
      }),
    ),
  },
);
export type FinishSecondFactorRequest = Static<typeof FinishSecondFactorRequest>;

/** Fields of a reply to a completed sign-in that both browsers and programs can receive. */
export const signedInFields = {
  access_token: Type.Optional(
    Type.String({
      description: 'The session token for programs, shown only in this reply; a browser gets a cookie.',
    }),
  ),
  token_type: Type.Optional(Type.Literal('bearer')),
  expires_at: Timestamp('Latest expiry time of the session.'),
  user: UserInfo,
  redirect_url: Type.String({ description: 'Redirect target of the browser: a path on this server.' }),
};

export const FinishSecondFactorResponse = Component(
  'FinishSecondFactorResponse',
  'Signed in.',
  signedInFields,
);
export type FinishSecondFactorResponse = Static<typeof FinishSecondFactorResponse>;

export const SecondFactorStatusResponse = Component(
  'SecondFactorStatusResponse',
  'State of the second factor.',
  {
    is_enabled: Type.Boolean(),
    enabled_at: Nullable(Type.String({ format: 'date-time' })),
    recovery_codes_left: Type.Integer(),
  },
);
export type SecondFactorStatusResponse = Static<typeof SecondFactorStatusResponse>;

export interface SecondFactorStatus {
  /** Milliseconds since the epoch; null while disabled. */
  readonly enabledAt: number | null;
  readonly recoveryCodesLeft: number;
}

export function toSecondFactorStatusResponse({
  enabledAt,
  recoveryCodesLeft,
}: SecondFactorStatus): SecondFactorStatusResponse {
  return {
    is_enabled: enabledAt !== null,
    enabled_at: toOptionalTimestamp(enabledAt),
    recovery_codes_left: recoveryCodesLeft,
  };
}

export const BeginSecondFactorResponse = Component(
  'BeginSecondFactorResponse',
  'Setup data for the authenticator app, shown only in this reply.',
  {
    secret: Type.String({ description: 'Base32 secret for manual entry.' }),
    otpauth_url: Type.String({ description: '`otpauth://totp/...`, the content of the QR code.' }),
  },
);
export type BeginSecondFactorResponse = Static<typeof BeginSecondFactorResponse>;

export const SecondFactorCodeRequest = Component('SecondFactorCodeRequest', 'A code.', { code });
export type SecondFactorCodeRequest = Static<typeof SecondFactorCodeRequest>;

export const ConfirmSecondFactorResponse = Component(
  'ConfirmSecondFactorResponse',
  'The second factor is enabled.',
  {
    recovery_codes: Type.Array(Type.String(), {
      description: 'Single-use replacements for a code of the app, shown only in this reply.',
    }),
  },
);
export type ConfirmSecondFactorResponse = Static<typeof ConfirmSecondFactorResponse>;
