/** A lab as short as can be: opens servers, says their process ids, and goes on until it is killed. */
import { openOwnServers } from '../../lab/servers/own.js'
import { pidsOf } from '../embedded/checkout.js'

const [program, folder] = process.argv.slice(2)
const servers = await openOwnServers({ program, replicas: 1, folder })
process.stdout.write(JSON.stringify(await pidsOf(servers)) + '\n')
setInterval(() => {}, 60_000)
