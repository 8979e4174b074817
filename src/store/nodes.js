/**
 * What one node says of itself: engine, role, offsets, processor time. Everything comes from INFO, ROLE and
 * COMMAND INFO; a capability that cannot be asked for is named as missing, never guessed.
 *
 * @typedef {{ address: string, runId: string, engine: string, role: 'primary' | 'replica', cpuSeconds: number, usedMemoryBytes: number,
 *   offset: number, linkUp: boolean, loading: boolean, fullSyncs: number }} NodeFigures
 */

/** @param {Buffer} bytes @returns {Record<string, string>} */
function readInfo (bytes) {
  return Object.fromEntries(bytes.toString().split('\r\n').filter((line) => line.includes(':')).map((line) => {
    const at = line.indexOf(':')
    return [line.slice(0, at), line.slice(at + 1)]
  }))
}

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {Promise<NodeFigures>}
 */
export async function nodeFigures (connection) {
  const info = readInfo(await connection.send('INFO'))
  const primary = info.role === 'master'
  return {
    address: connection.address,
    runId: info.run_id,
    engine: info.valkey_version ? `valkey ${info.valkey_version}` : `redis ${info.redis_version}`,
    role: primary ? 'primary' : 'replica',
    cpuSeconds: Number(info.used_cpu_user) + Number(info.used_cpu_sys),
    usedMemoryBytes: Number(info.used_memory),
    offset: Number(primary ? info.master_repl_offset : info.slave_repl_offset),
    linkUp: primary || info.master_link_status === 'up',
    loading: info.loading === '1',
    fullSyncs: Number(info.sync_full ?? 0)
  }
}

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {Promise<{ msetex: boolean | null }>} null = this user may not ask
 */
export async function capabilities (connection) {
  try {
    const [msetex] = await connection.send('COMMAND', 'INFO', 'MSETEX')
    return { msetex: msetex !== null }
  } catch (error) {
    if (error.code === 'SERVER_REFUSED') return { msetex: null }
    throw error
  }
}

/**
 * @param {import('./connection.js').Connection} primary
 * @returns {Promise<string[]>} addresses of its replicas, with the credentials and scheme of the primary's own
 */
export async function replicaUrls (primary) {
  const [role, , replicas] = await primary.send('ROLE')
  if (String(role) !== 'master') return []
  return replicas.map((/** @type {Buffer[]} */ [host, port]) => {
    const url = new URL(primary.url)
    url.hostname = String(host).includes(':') ? `[${host}]` : String(host)
    url.port = String(port)
    return url.href
  })
}
