/** The certificate of an HTTPS server and its key, replaced while the process runs when the files change. */
import { createSecureContext } from 'node:tls'
import { FreshetError } from '../errors.js'
import { watchFiles } from './watched-files.js'

/** @typedef {Awaited<ReturnType<typeof openTls>>} Tls */

/**
 * @param {{ tlsCert: string, tlsKey: string }} settings PEM files; the certificate may be followed by those of its authorities
 * @param {{ log: import('pino').Logger }} options
 * @throws {FreshetError} CERTIFICATE_INVALID
 */
export async function openTls ({ tlsCert, tlsKey }, { log }) {
  let pair = { cert: '', key: '' }
  /** @type {import('node:https').Server | null} */
  let server = null
  const { close } = await watchFiles([tlsCert, tlsKey], {
    what: 'certificate',
    code: 'CERTIFICATE_INVALID',
    expected: 'a PEM file that this process may read',
    parse (cert, key) {
      try {
        createSecureContext({ cert, key })
      } catch (error) {
        throw new FreshetError('CERTIFICATE_INVALID', `${tlsCert} and ${tlsKey} cannot be used together (${error.reason ?? error.code}); ` +
          'expected a certificate and its own key, both as PEM, the key without a passphrase')
      }
      return { cert, key }
    },
    apply (read) {
      pair = read
      server?.setSecureContext(read)
    },
    log
  })
  return {
    get pair () { return pair },
    /** @param {import('node:https').Server} https gets later certificates, for new connections */
    serve (https) { server = https },
    close
  }
}
