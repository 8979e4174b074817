/** A proxy that spreads requests over the replicas of a service, in a process of its own (proxy-process.js). */
import { fileURLToPath } from 'node:url'
import { startProcess } from '../../serving/process.js'

const PROXY = fileURLToPath(new URL('proxy-process.js', import.meta.url))

export async function startProxy () {
  const one = startProcess('a proxy', [PROXY], process.env)
  return {
    url: String((await one.receive('up')).url),
    /** @param {string[]} urls of the replicas from now on */
    replicas: (urls) => one.send({ event: 'replicas', urls }),
    close: one.stop
  }
}
