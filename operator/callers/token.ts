// Which pod a bearer token speaks for: a projected ServiceAccount token, checked against the API server's published keys.
import { errors, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Issuer } from './issuer.ts';

/** Whom tokens for the operator are made out to: a token for the API server is none. */
export const audience = 'lyceum';

export interface PodIdentity {
  namespace: string;
  name: string;
  uid: string;
  serviceAccount: string;
}

const word = z.string().min(1).max(253);
const claimsSchema = z.object({
  'kubernetes.io': z.object({
    namespace: word,
    pod: z.object({ name: word, uid: word }),
    serviceaccount: z.object({ name: word }),
  }),
});

/** What a kube-apiserver signs with; none of them is made from a secret that both sides share. */
const algorithms = ['RS256', 'ES256', 'ES384', 'ES512'];
/** By so many seconds two machines' clocks may differ. */
const clockTolerance = 5;

/**
 * The pod that a token is bound to; undefined when it is not accepted, for whatever reason.
 * @param now milliseconds of the wall clock
 * @throws KeysUnavailable
 */
export async function podOfToken(token: string, issuer: Issuer, now: number): Promise<PodIdentity | undefined> {
  try {
    const { payload } = await jwtVerify(token, issuer.key, {
      issuer: await issuer.name(),
      audience,
      algorithms,
      clockTolerance,
      currentDate: new Date(now),
      requiredClaims: ['exp', 'iat', 'sub'],
    });
    const claims = claimsSchema.safeParse(payload);
    if (!claims.success) return undefined;
    const { namespace, pod, serviceaccount } = claims.data['kubernetes.io'];
    return { namespace, ...pod, serviceAccount: serviceaccount.name };
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
