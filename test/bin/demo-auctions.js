/** The demo of auctions, and requests of its visitors. */
import { newest } from '../../src/store/embedded/engine.js'
import { runCommand } from '../commands.js'
import { startDeployment, testEngines } from '../servers.js'

/** A demo has one engine; what it does on others is tested where it is done. @param {import('tap').Test} t */
export const startPrimary = async (t) =>
  (await startDeployment(t, { engine: /** @type {any} */ (newest(await testEngines())), replicas: 1 })).primary

/** @param {import('tap').Test} t @param {string[]} [flags] */
export async function startDemo (t, flags = []) {
  const primary = await startPrimary(t)
  const command = runCommand(t, ['demo', 'auctions', '--redis-url', primary.url, '--port', '0', '--gateway-port', '0', ...flags])
  const [, gatewayUrl] = await command.until(/^gateway +(\S+)/m)
  const [, url] = await command.until(/^reader +(\S+)\/auctions/m)
  await command.until(/^crowd/m)
  return { command, gatewayUrl, url }
}

/** @param {string} url @param {string} method @param {object} [body] */
export const send = (url, method, body) =>
  fetch(url, { method, ...body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } })
