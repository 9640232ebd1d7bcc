/** IDs and credentials in the request examples of the documentation. */

export const organizationExample = { organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' } as const;
export const keyExample = {
  ...organizationExample,
  api_key_id: '7c0d7a35-2f4e-4b57-8a3e-0f6f3f3f5a21',
} as const;
export const userExample = { user_id: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44' } as const;
export const memberExample = {
  ...organizationExample,
  user_id: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44',
} as const;
export const passkeyExample = { passkey_id: '7f0c2a34-5b1d-4e8f-9a60-1c2d3e4f5a6b' } as const;
const credentialExample = { id: 'Aa1-Bb2_Cc3', rawId: 'Aa1-Bb2_Cc3', type: 'public-key' } as const;
export const newPasskeyExample = {
  ...credentialExample,
  response: { clientDataJSON: 'eyJ...', attestationObject: 'o2N...' },
} as const;
export const passkeyAssertionExample = {
  ...credentialExample,
  response: {
    clientDataJSON: 'eyJ...',
    authenticatorData: 'SZY...',
    signature: 'MEU...',
    userHandle: 'q83...',
  },
} as const;
