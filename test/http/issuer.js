/** An issuer of JSON Web Tokens: its keys, and tokens that it signs. */
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { folderFor } from './guarded.js'

export const ISSUER = 'https://issuer.example'
export const AUDIENCE = 'freshet'
export const CLAIMS = { scope: 'openid read', feeds: ['latest'] }

/** @param {string} kid @param {string} [alg] */
export async function createKey (kid, alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...await exportJWK(publicKey), kid, use: 'sig', alg }
  /** @param {any} [claims] @param {{ expires?: string | number | null, issuer?: string, audience?: string }} [rest] */
  const sign = (claims = CLAIMS, { expires = '10m', issuer = ISSUER, audience = AUDIENCE } = {}) => {
    const token = new SignJWT(claims).setProtectedHeader({ alg, kid }).setIssuer(issuer).setAudience(audience)
    return (expires === null ? token : token.setExpirationTime(expires)).sign(privateKey)
  }
  return { jwk, sign, publicKey }
}

/** @param {import('tap').Test} t @param {any[]} keys */
export async function keyFileFor (t, keys) {
  const file = join(await folderFor(t), 'keys.json')
  /** @param {any[]} keys */
  const write = async (keys) => {
    await writeFile(`${file}.new`, JSON.stringify({ keys }))
    await rename(`${file}.new`, file)
  }
  await write(keys)
  return { file, write }
}
