/** Demos as processes, on shared servers, and requests of their visitors. */
import { runCommand } from '../commands.js'

/**
 * @param {import('tap').Test} t @param {string} system one of ours, or the path of a module
 * @param {Awaited<ReturnType<typeof import('../shared.js').sharedDeployment>>} deployment @param {string[]} [flags]
 */
export async function startDemo (t, system, { primary, keyPrefix }, flags = []) {
  const command = runCommand(t, ['demo', system, '--redis-url', primary.url, '--key-prefix', keyPrefix, '--port', '0',
    '--gateway-port', '0', ...flags])
  const [, gatewayUrl] = await command.until(/^gateway +(\S+)/m)
  const isOurs = /^[a-z]+$/.test(system)
  const [, url] = await command.until(new RegExp(`^reader +(\\S+)/${isOurs ? system : 'docs'}`, 'm'))
  await command.until(isOurs ? /^crowd/m : /^consumers/m)
  return { command, gatewayUrl, url }
}

/** @param {string} url @param {string} method @param {object} [body] */
export const send = (url, method, body) =>
  fetch(url, { method, ...body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } })
