/**
 * Helper servers on 127.0.0.1 are for programs and pages of this machine. A page from elsewhere can reach them too: its requests carry its
 * Origin, or, after its host name was made to lead to 127.0.0.1 (DNS rebinding), its Host.
 */
const HERE = ['127.0.0.1', 'localhost', '[::1]']

/** @param {string} url */
const isHere = (url) => URL.canParse(url) && HERE.includes(new URL(url).hostname)

/** @param {import('node:http').IncomingHttpHeaders} headers */
export const isLocalRequest = ({ host, origin }) => isHere(`http://${host}`) && (origin === undefined || isHere(origin))

/** for requests that are refused, with status 403 */
export const REFUSED = 'Host and Origin must be 127.0.0.1 or localhost'
