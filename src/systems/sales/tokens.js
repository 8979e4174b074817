/**
 * Sale tokens: a hold as a signed JSON Web Token (RFC 7519), `{ sale, sub, jti, exp, lineage }`, where jti is the claim. Any gateway can
 * check it; whether it is still valid is decided by the rule, on the clock of the server.
 *
 * The private key is given, or generated once and stored on the server, so that every gateway signs and checks alike.
 *
 * @typedef {import('jose').JWK & { alg: string }} Jwk
 * @typedef {Pick<import('freshet-feed/systems').GatewayParts['router'], 'send'>} Router to the primaries
 */
import { timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { FreshetError, idWith } from 'freshet-feed/systems'

/**
 * Tickets of the waiting room: the id of a claim and a keyed hash of it, its sale and its user. Every gateway and reader that knows the
 * secret of the system can check one, without asking a server. Claim ids come from the same secret, so that a request that is repeated
 * names the same claim, and no one else can guess it.
 */

const MAX_CHARS = 1024

/**
 * The header Freshet-Ticket.
 * @param {import('node:http').IncomingHttpHeaders} headers @returns {string | null} a ticket or a token; null if there is none
 * @throws {FreshetError} REQUEST_INVALID
 */
export function readTicket ({ 'freshet-ticket': ticket }) {
  if (ticket === undefined) return null
  if (typeof ticket === 'string' && ticket.length <= MAX_CHARS) return ticket
  throw new FreshetError('REQUEST_INVALID', `Freshet-Ticket: longer than ${MAX_CHARS} characters; expected a ticket or a token`)
}

/** @param {string} secret @param {{ sale: string, user: string, requestId: string }} request @returns {string} */
export const claimIdOf = (secret, { sale, user, requestId }) => idWith(secret, 'claim', sale, user, requestId)

/** @param {string} secret @param {{ sale: string, user: string, claim: string }} position @returns {string} */
export const ticketOf = (secret, { sale, user, claim }) => `${claim}.${idWith(secret, 'ticket', sale, user, claim)}`

/**
 * @param {string} secret @param {{ sale: string, user: string, ticket: string | null }} shown
 * @returns {string} the claim
 * @throws {FreshetError} TICKET_MISSING, TICKET_INVALID
 */
export function claimOfTicket (secret, { sale, user, ticket }) {
  if (ticket === null) throw new FreshetError('TICKET_MISSING', 'this needs the ticket of the queue; send it in the header Freshet-Ticket')
  const [claim] = ticket.split('.')
  const [given, right] = [ticket, ticketOf(secret, { sale, user, claim })].map((text) => Buffer.from(text))
  if (given.length === right.length && timingSafeEqual(given, right)) return claim
  throw new FreshetError('TICKET_INVALID', 'the ticket is not one of this sale and user; join the queue for one')
}

/** Loaded with the first token, because most processes have none. */
const loadJose = () => import('jose')

export const ALGORITHMS = Object.freeze(['HS256', 'EdDSA'])

/** @typedef {ReturnType<typeof createTokens>} Tokens */

/**
 * @param {{ router: Router, key: string, file: string | null, algorithm?: string }} options
 *   `key`: where the private key is stored; `file`: it is read from there instead; `algorithm` of a generated one
 */
export function createTokens ({ router, key, file, algorithm = 'HS256' }) {
  /** @type {ReturnType<typeof load> | null} */
  let loading = null
  async function load () {
    const jwk = file === null ? await agreeOnKey(router, key, algorithm) : await keyIn(file)
    const { d, ...shared } = jwk
    const { importJWK, jwtVerify, SignJWT } = await loadJose()
    const [sign, verify] = await Promise.all([jwk, jwk.kty === 'oct' ? jwk : shared].map((one) => importJWK(one, jwk.alg)))
    return { alg: jwk.alg, sign, verify, jwtVerify, SignJWT }
  }
  function loaded () {
    loading ??= load()
    loading.catch(() => { loading = null })
    return loading
  }

  return {
    /** The same token for the same claim. @param {{ sale: string, user: string, claim: string, untilMs: number, lineage: string }} hold */
    async issue ({ sale, user, claim, untilMs, lineage }) {
      const { alg, sign, SignJWT } = await loaded()
      return new SignJWT({ sale, lineage }).setProtectedHeader({ alg }).setSubject(user).setJti(claim)
        .setExpirationTime(Math.ceil(untilMs / 1000)).sign(sign)
    },

    /**
     * @param {{ sale: string, user: string, token: string }} shown
     * @returns {Promise<string>} the claim
     * @throws {FreshetError} TICKET_INVALID
     */
    async claimOf ({ sale, user, token }) {
      const { alg, verify, jwtVerify } = await loaded()
      // expiry is decided by the rule
      const options = { algorithms: [alg], subject: user, currentDate: new Date(0) }
      const { payload } = await jwtVerify(token, verify, options).catch(() => ({ payload: null }))
      if (payload?.sale === sale && payload.jti) return payload.jti
      throw new FreshetError('TICKET_INVALID', 'the token is not one of this sale and user, or was not signed here; send the issued one')
    }
  }
}

/**
 * The first process decides.
 * @param {Router} router @param {string} key @param {string} algorithm @returns {Promise<Jwk>}
 */
async function agreeOnKey (router, key, algorithm) {
  const stored = await router.send('GET', key)
  if (stored !== null) return JSON.parse(String(stored))
  const { exportJWK, generateKeyPair, generateSecret } = await loadJose()
  const pair = algorithm === 'HS256' ? null : await generateKeyPair(algorithm, { crv: 'Ed25519', extractable: true })
  const jwk = await exportJWK(pair ? pair.privateKey : await generateSecret(algorithm, { extractable: true }))
  await router.send('SET', key, JSON.stringify({ ...jwk, alg: algorithm }), 'NX')
  return JSON.parse(String(await router.send('GET', key)))
}

/** @param {string} file @returns {Promise<Jwk>} */
const keyIn = async (file) => JSON.parse(await readFile(file, 'utf8'))
