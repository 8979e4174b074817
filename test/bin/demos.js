/** Demos as processes, each with a key prefix of its own on shared servers, and requests of their visitors. */
import { runCommand } from '../commands.js'
import { sharedDeployment } from '../shared.js'

/** @param {import('tap').Test} t @param {'auctions' | 'sales' | 'prices' | 'orders'} system @param {string[]} [flags] */
export async function startDemo (t, system, flags = []) {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const command = runCommand(t, ['demo', system, '--redis-url', primary.url, '--key-prefix', keyPrefix, '--port', '0',
    '--gateway-port', '0', ...flags])
  const [, gatewayUrl] = await command.until(/^gateway +(\S+)/m)
  const [, url] = await command.until(new RegExp(`^reader +(\\S+)/${system}`, 'm'))
  await command.until(/^crowd/m)
  return { command, gatewayUrl, url }
}

/** @param {string} url @param {string} method @param {object} [body] */
export const send = (url, method, body) =>
  fetch(url, { method, ...body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } })
