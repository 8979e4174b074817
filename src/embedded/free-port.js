/** Ports of embedded servers. Another program may take a free port before a server binds it, so a start is tried again with another. */
import { createServer } from 'node:net'

export const PORTS_TRIED = 5

/** @returns {Promise<number>} */
export const freePort = () => new Promise((resolve, reject) => {
  // a client that connects before it closes would keep it open
  const probe = createServer((socket) => socket.destroy()).once('error', reject).listen(0, '127.0.0.1', () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address())
    probe.close(() => resolve(port))
  })
})

/** Whether a server did not start because its port was taken. @param {string} output of it */
export const isPortTaken = (output) => /Address already in use/.test(output)
